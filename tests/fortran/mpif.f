C     mpif.h in fixed source form, as programs of the nineties are written: implicit interfaces.
      program mpif
      implicit none
      include 'mpif.h'
      integer ierr, rank, size, left, right, errors, all, i
      integer status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
      integer requests(2), column, length, index, comm, dims(2)
      integer world_group, one, done(2), outcount
      double precision matrix(4, 4), start, sums(2), value
      logical flag, periods(2), got(2)
      integer (kind=MPI_ADDRESS_KIND) address, base, attribute
      character*(MPI_MAX_OBJECT_NAME) name
      character*(MPI_MAX_LIBRARY_VERSION_STRING) version
      external add_up, copy_value
      integer op

      errors = 0
      call mpi_init(ierr)
      call check(ierr .eq. MPI_SUCCESS, 1)
      start = mpi_wtime()
      call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
      call mpi_comm_size(MPI_COMM_WORLD, size, ierr)
      right = mod(rank + 1, size)
      left = mod(rank + size - 1, size)
      call mpi_get_library_version(version, length, ierr)
      call check(length .gt. 0 .and. version(length+1:) .eq. ' ', 2)

C     A ring with a column and a row of a matrix
      matrix = rank
      call mpi_type_vector(4, 1, 4, MPI_DOUBLE_PRECISION, column, ierr)
      call mpi_type_commit(column, ierr)
      call mpi_irecv(matrix(1, 1), 1, column, left, 7, MPI_COMM_WORLD,
     &               requests(1), ierr)
      call mpi_isend(matrix(2, 1), 4, MPI_DOUBLE_PRECISION, right, 7,
     &               MPI_COMM_WORLD, requests(2), ierr)
      call mpi_waitall(2, requests, statuses, ierr)
      call check(requests(1) .eq. MPI_REQUEST_NULL, 3)
      call check(statuses(MPI_SOURCE, 1) .eq. left, 4)
      call check(statuses(MPI_TAG, 1) .eq. 7, 5)
      call mpi_get_count(statuses(1, 1), column, i, ierr)
      call check(i .eq. 1, 6)
      call check(matrix(1, 3) .eq. left .and. matrix(2, 3) .eq. rank, 7)
      call mpi_type_free(column, ierr)
      call check(column .eq. MPI_DATATYPE_NULL, 8)

C     Which of several: indices count from 1
      requests(1) = MPI_REQUEST_NULL
      call mpi_irecv(i, 1, MPI_INTEGER, MPI_ANY_SOURCE, 8,
     &               MPI_COMM_WORLD, requests(2), ierr)
      call mpi_send(rank, 1, MPI_INTEGER, right, 8, MPI_COMM_WORLD,
     &              ierr)
      call mpi_waitany(2, requests, index, status, ierr)
      call check(index .eq. 2 .and. i .eq. left, 9)
      call mpi_waitany(2, requests, index, status, ierr)
      call check(index .eq. MPI_UNDEFINED, 10)
      call mpi_irecv(i, 1, MPI_INTEGER, left, 8, MPI_COMM_WORLD,
     &               requests(1), ierr)
      call mpi_send(rank, 1, MPI_INTEGER, right, 8, MPI_COMM_WORLD,
     &              ierr)
      call mpi_waitsome(2, requests, outcount, done,
     &                  MPI_STATUSES_IGNORE, ierr)
      call check(outcount .eq. 1 .and. done(1) .eq. 1, 11)
      call mpi_test(requests(1), flag, MPI_STATUS_IGNORE, ierr)
      call check(flag, 12)

C     Collectives
      sums(1) = rank
      sums(2) = 1
      call mpi_allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE_PRECISION,
     &                   MPI_SUM, MPI_COMM_WORLD, ierr)
      call check(sums(1) .eq. size * (size - 1) / 2, 13)
      call check(sums(2) .eq. size, 14)
      call mpi_op_create(add_up, .true., op, ierr)
      value = rank
      call mpi_allreduce(value, sums, 1, MPI_DOUBLE_PRECISION, op,
     &                   MPI_COMM_WORLD, ierr)
      call check(sums(1) .eq. size * (size - 1) / 2, 15)
      call mpi_op_free(op, ierr)
      call check(op .eq. MPI_OP_NULL, 16)

C     Addresses, and a type that is relative to MPI_BOTTOM
      call mpi_get_address(matrix, base, ierr)
      call mpi_get_address(matrix(1, 2), address, ierr)
      call check(mpi_aint_diff(address, base) .eq. 32, 17)
      call mpi_type_create_hindexed(1, (/ 4 /), (/ address /),
     &     MPI_DOUBLE_PRECISION, column, ierr)
      call mpi_type_commit(column, ierr)
      matrix(:, 2) = rank
      call mpi_bcast(MPI_BOTTOM, 1, column, size - 1, MPI_COMM_WORLD,
     &               ierr)
      call check(all_are(matrix(1, 2), dble(size - 1)), 18)
      call mpi_type_free(column, ierr)

C     Logicals and characters
      dims = 0
      call mpi_dims_create(size, 2, dims, ierr)
      periods(1) = .true.
      periods(2) = .false.
      call mpi_cart_create(MPI_COMM_WORLD, 2, dims, periods, .false.,
     &                     comm, ierr)
      call mpi_cart_get(comm, 2, dims, got, done, ierr)
      call check(got(1) .and. .not. got(2), 19)
      call mpi_comm_set_name(comm, 'a grid   ', ierr)
      call mpi_comm_get_name(comm, name, length, ierr)
      call check(name .eq. 'a grid' .and. length .eq. 6, 20)
      call mpi_comm_free(comm, ierr)

C     Attributes, of MPI's and of ours
      call mpi_comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, attribute,
     &                       flag, ierr)
      call check(flag .and. attribute .ge. 32767, 21)
      call mpi_attr_get(MPI_COMM_WORLD, MPI_TAG_UB, i, flag, ierr)
      call check(flag .and. i .eq. attribute, 22)
      call mpi_keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, index,
     &                       5, ierr)
      call mpi_attr_put(MPI_COMM_WORLD, index, 4711, ierr)
      call mpi_comm_dup(MPI_COMM_WORLD, comm, ierr)
      call mpi_attr_get(comm, index, i, flag, ierr)
      call check(flag .and. i .eq. 4711, 23)
      call mpi_comm_free(comm, ierr)
      call mpi_attr_delete(MPI_COMM_WORLD, index, ierr)
      call mpi_attr_get(MPI_COMM_WORLD, index, i, flag, ierr)
      call check(.not. flag, 24)
      call mpi_keyval_free(index, ierr)
      call check(index .eq. MPI_KEYVAL_INVALID, 25)

C     Groups; the profiling name
      call mpi_comm_group(MPI_COMM_WORLD, world_group, ierr)
      call mpi_group_incl(world_group, 1, (/ rank /), one, ierr)
      call mpi_group_size(one, i, ierr)
      call check(i .eq. 1, 26)
      call mpi_group_free(one, ierr)
      call mpi_group_free(world_group, ierr)
      call pmpi_barrier(MPI_COMM_WORLD, ierr)
      call check(mpi_wtime() .ge. start, 27)

C     An error that comes back
      call mpi_comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN,
     &                             ierr)
      call mpi_send(rank, 1, MPI_INTEGER, size, 0, MPI_COMM_WORLD, ierr)
      call mpi_error_class(ierr, i, ierr)
      call check(i .eq. MPI_ERR_RANK, 28)

      call mpi_allreduce(errors, all, 1, MPI_INTEGER, MPI_SUM,
     &                   MPI_COMM_WORLD, ierr)
      call mpi_finalize(ierr)
      call mpi_finalized(flag, ierr)
      if (rank .eq. 0 .and. all .eq. 0 .and. flag) then
         print '(a)', ' No Errors'
      end if
      if (all .ne. 0) stop 1

      contains
      subroutine check(right_it_is, number)
      logical right_it_is
      integer number
      if (right_it_is) return
      errors = errors + 1
      print *, 'rank', rank, ': check', number, 'is wrong'
      end subroutine

      logical function all_are(four, wanted)
      double precision four(4), wanted
      all_are = all_four(four .eq. wanted)
      end function

      logical function all_four(what)
      logical what(4)
      all_four = what(1) .and. what(2) .and. what(3) .and. what(4)
      end function
      end

      subroutine add_up(invec, inoutvec, length, datatype)
      implicit none
      include 'mpif.h'
      integer length, datatype, i
      double precision invec(length), inoutvec(length)
      if (datatype .ne. MPI_DOUBLE_PRECISION) stop 2
      do i = 1, length
         inoutvec(i) = inoutvec(i) + invec(i)
      end do
      end
