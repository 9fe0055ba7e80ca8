! Rank 0 is late for rank 1, at four lines: two of this program, one of a callback, and one after the call that ran the
! callback. -DWITH_MPIF, -DWITH_MPI or neither chooses the interface.
subroutine compute_for_a_moment
  implicit none
  integer :: i
  real, volatile :: x
  x = 0
  do i = 1, 200000
    x = x + 1
  end do
end subroutine

#if defined(WITH_MPIF) || defined(WITH_MPI)
#define COMMUNICATOR integer
#define REQUEST integer
#else
#define COMMUNICATOR type(MPI_Comm)
#define REQUEST type(MPI_Request)
#endif

module one_way
#if defined(WITH_MPIF)
  implicit none
  include 'mpif.h'
#elif defined(WITH_MPI)
  use mpi
  implicit none
#else
  use mpi_f08
  implicit none
#endif
  integer :: rank, ierror
contains
  subroutine send_late
    call compute_for_a_moment
    call MPI_Send(rank, 1, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, ierror)
  end subroutine

  subroutine delete_function(comm, keyval, value, extra, error)
    COMMUNICATOR :: comm
    integer :: keyval, error, got
    integer(MPI_ADDRESS_KIND) :: value, extra
    if (rank == 1) then
      call MPI_Recv(got, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)  ! in the callback
    else if (rank == 0) then
      call send_late
    end if
    error = MPI_SUCCESS
  end subroutine
end module

program report_fortran
  use one_way
  implicit none
  integer, parameter :: rounds = 50
  integer :: round, got, keyval
  integer(MPI_ADDRESS_KIND) :: nothing
  REQUEST :: request
  ierror = 0
  nothing = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_function, keyval, nothing, ierror)
  do round = 1, rounds
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, nothing, ierror)
    if (rank == 0) then
      call send_late
      call send_late
    else if (rank == 1) then
      call receive
      call MPI_Irecv(got, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, request, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)  ! of a request
    end if
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierror)
    if (rank == 0) call compute_for_a_moment
    call MPI_Barrier(MPI_COMM_WORLD, ierror)  ! for all
  end do
  call MPI_Finalize(ierror)
contains
  subroutine receive
    call MPI_Recv(got, 1, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)  ! blocking
  end subroutine
end program
