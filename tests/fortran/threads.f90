! mpi_f08 from several threads at once: requests whose numbers go from thread to thread, with sections that are not
! contiguous.
program threads
  use mpi_f08
  use omp_lib
  implicit none
  integer :: provided, rank, size, errors, total
  type(MPI_Comm) :: comms(0:3)
  integer :: i

  errors = 0
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  do i = 0, 3
    call MPI_Comm_dup(MPI_COMM_SELF, comms(i))
  end do
  if (provided == MPI_THREAD_MULTIPLE) then
    !$omp parallel num_threads(4) reduction(+:errors)
    call exchange(comms(omp_get_thread_num()), omp_get_thread_num(), errors)
    !$omp end parallel
  end if
  do i = 0, 3
    call MPI_Comm_free(comms(i))
  end do
  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (total /= 0) stop 1
  if (rank == 0) print '(a)', ' No Errors'

contains

  subroutine exchange(comm, number, wrong)
    type(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: number
    integer, intent(inout) :: wrong
    integer, asynchronous :: sent(3, 6), got(3, 6)
    type(MPI_Request) :: requests(2)
    integer :: turn, row, last
    do turn = 1, 1000
      row = 1 + mod(turn, 3)
      sent = number + 10 * turn
      got = -1
      call MPI_Irecv(got(row, :), 6, MPI_INTEGER, 0, 1, comm, requests(1))
      call MPI_Isend(sent(row, :), 6, MPI_INTEGER, 0, 1, comm, requests(2))
      if (mod(turn, 2) == 0) then
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
      else
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      end if
      last = count(got == number + 10 * turn)
      if (last /= 6 .or. any(got(row, :) /= number + 10 * turn)) wrong = wrong + 1
    end do
  end subroutine
end program
