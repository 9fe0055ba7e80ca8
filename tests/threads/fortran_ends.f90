! Rank 1 ends in the way that the first word says.
module ways
  implicit none
contains
  subroutine write_beyond(values, place)
    integer, intent(inout) :: values(:)
    integer, intent(in) :: place
    values(place) = 1
  end subroutine

  subroutine write_nowhere(at)
    use iso_c_binding
    type(c_ptr), intent(in) :: at
    integer, pointer :: value
    call c_f_pointer(at, value)
    value = 1
  end subroutine

  subroutine large_array(n)
    integer, intent(in) :: n
    integer, volatile :: values(n)
    values(1) = n
    values(2) = values(1)
  end subroutine
end module

program fortran_ends
  use iso_c_binding
  use ways
  implicit none
  interface
    integer(c_int) function MPI_Init(a, b) bind(C, name="MPI_Init")
      import
      type(c_ptr), value :: a, b
    end function
    integer(c_int) function MPI_Comm_rank(comm, rank) bind(C, name="MPI_Comm_rank")
      import
      integer(c_intptr_t), value :: comm
      integer(c_int) :: rank
    end function
    integer(c_int) function MPI_Barrier(comm) bind(C, name="MPI_Barrier")
      import
      integer(c_intptr_t), value :: comm
    end function
    integer(c_int) function MPI_Finalize() bind(C, name="MPI_Finalize")
      import
    end function
  end interface
  integer(c_intptr_t), parameter :: world = 257
  integer(c_int) :: error, rank
  integer :: values(10)
  character(20) :: way
  call get_command_argument(1, way)
  error = MPI_Init(c_null_ptr, c_null_ptr)
  error = MPI_Comm_rank(world, rank)
  error = MPI_Barrier(world)
  if (rank == 1) then
    select case (way)
    case ('bounds')
      call write_beyond(values, 11 + rank)
    case ('segv')
      call write_nowhere(transfer(8_c_intptr_t, c_null_ptr))
    case ('array')
      call large_array(30 * 1024 * 1024)
    case ('stop')
      stop 3
    case ('error')
      error stop 4
    case ('text')
      error stop 'it is over'
    end select
  end if
  error = MPI_Barrier(world)
  error = MPI_Finalize()
end program
