! Handles, statuses and attributes between Fortran and C (with_c_side.c), in both directions; and a Fortran tool in
! front of MPI_BARRIER.
program with_c
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi_f08
  implicit none
  interface
    integer(c_int) function c_uses(comm, datatype, op, group, info, errhandler) bind(C)
      import
      integer(c_int), value :: comm, datatype, op, group, info, errhandler
    end function
    subroutine c_gives(comm, datatype, request, keyval) bind(C)
      import
      integer(c_int), intent(out) :: comm, datatype, request, keyval
    end subroutine
    integer(c_int) function c_looks_at(status, comm, keyval) bind(C)
      import
      type(MPI_Status) :: status
      integer(c_int), value :: comm, keyval
    end function
  end interface
  integer :: rank, size, errors, total, value, keyval, fortran_status(MPI_STATUS_SIZE), barriers
  integer(kind=MPI_ADDRESS_KIND) :: attribute
  logical :: flag
  type(MPI_Comm) :: comm
  type(MPI_Datatype) :: vector, bytes
  type(MPI_Group) :: group
  type(MPI_Info) :: info
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  common /seen/ barriers

  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)

  ! From here to C
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Type_vector(3, 1, 2, MPI_INTEGER, vector)
  call MPI_Comm_group(comm, group)
  call MPI_Info_create(info)
  call MPI_Info_set(info, 'key', 'value')
  call check(c_uses(comm%MPI_VAL, vector%MPI_VAL, MPI_SUM%MPI_VAL, group%MPI_VAL, info%MPI_VAL, &
                    MPI_ERRORS_RETURN%MPI_VAL) == 0, 'handles in C')
  call MPI_Type_free(vector)
  call MPI_Group_free(group)
  call MPI_Info_free(info)
  call MPI_Comm_free(comm)

  ! From C to here: a communicator, a type of four bytes, a receive that is under way, an attribute that C has set
  call c_gives(comm%MPI_VAL, bytes%MPI_VAL, request%MPI_VAL, keyval)
  call MPI_Comm_size(comm, value)
  call check(value == size, 'a communicator of C')
  call MPI_Send(rank, 1, bytes, mod(rank + 1, size), 9, comm)
  call MPI_Wait(request, status)
  call check(request == MPI_REQUEST_NULL .and. status%MPI_TAG == 9, 'a request of C')
  call MPI_Comm_get_attr(comm, keyval, attribute, flag)
  call check(flag .and. attribute == 4711, 'an address that C has set')
  call MPI_Comm_set_attr(comm, keyval, -5_MPI_ADDRESS_KIND)
  call MPI_Status_f082f(status, fortran_status)
  call check(fortran_status(MPI_SOURCE) == mod(rank + size - 1, size), 'MPI_Status_f082f')
  call MPI_Status_f2f08(fortran_status, status)
  call check(c_looks_at(status, comm%MPI_VAL, keyval) == 0, 'what C finds in a status, and in an attribute')
  call MPI_Comm_delete_attr(comm, keyval)
  call MPI_Comm_free_keyval(keyval)
  call MPI_Type_free(bytes)
  call MPI_Comm_free(comm)

  barriers = 0
  call call_barrier()
  call check(barriers == 1, 'a Fortran tool in front of MPI_BARRIER')

  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (total /= 0) stop 1
  if (rank == 0) print '(a)', ' No Errors'

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    errors = errors + 1
    print '(a,i0,2a)', 'rank ', rank, ': wrong: ', what
  end subroutine
end program

subroutine call_barrier()
  implicit none
  include 'mpif.h'
  integer :: ierr
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  if (ierr /= MPI_SUCCESS) stop 2
end subroutine

subroutine MPI_Barrier(comm, ierror)
  implicit none
  integer :: comm, ierror, barriers
  common /seen/ barriers
  barriers = barriers + 1
  call PMPI_Barrier(comm, ierror)
end subroutine
