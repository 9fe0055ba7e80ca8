! Prints " No Errors" or what is wrong; fortran_data.f90 says of what.
program fortran_data_program
  use iso_c_binding
  use in_library
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
  integer :: i, unit, value, private_value
  integer, allocatable, save :: kept(:)
  character(300) :: folder, name, text
  common /of_thread/ private_value
  !$omp threadprivate(/of_thread/)
  error = MPI_Init(c_null_ptr, c_null_ptr)
  error = MPI_Comm_rank(world, rank)
  call get_environment_variable('TMPDIR', folder)
  if (folder == '') folder = '/tmp'
  allocate (kept(rank + 1))
  kept = rank
  private_value = rank
  counter = counter + rank
  table(2) = real(rank)
  write (name, '(a,a,i0)') trim(folder), '/new.', rank
  open (newunit=unit, file=name)
  error = MPI_Barrier(world)
  do i = 1, 3
    call count_up()
    write (unit, *) rank * 10 + i
    error = MPI_Barrier(world)
  end do
  call check(counter == 8 + rank, 'a variable of a module in a library')
  call check(table(2) == real(rank) .and. table(4) == 40., 'a table of a module in a library')
  call check(size(kept) == rank + 1 .and. all(kept == rank), 'a saved allocatable')
  call check(private_value == rank, 'a thread-private common block')
  rewind (unit)
  do i = 1, 3
    read (unit, *) value
    call check(value == rank * 10 + i, 'a unit')
  end do
  close (unit, status='delete')
  write (name, '(a,a,i0)') trim(folder), '/out.', rank
  open (unit=6, file=name)
  error = MPI_Barrier(world)
  write (6, '(i0)') rank
  error = MPI_Barrier(world)
  rewind (6)
  read (6, *) value
  call check(value == rank, 'unit 6 in a file')
  close (6, status='delete')
  call check(apply(add) == rank + 1, 'a procedure inside the program')
  call check(random(7) == 49, 'a function by the name of one of libc')
  read (*, '(a)', iostat=value) text
  call check(value /= 0 .or. rank == 0, 'standard input of another rank')
  error = MPI_Finalize()
  if (rank == 0) write (0, '(a)') ' No Errors'
contains
  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (.not. right) then
      write (0, *) 'wrong: rank', rank, what
      stop 1
    end if
  end subroutine

  integer function add(i)
    integer, intent(in) :: i
    add = rank + i
  end function

  integer function apply(f)
    interface
      integer function f(i)
        integer, intent(in) :: i
      end function
    end interface
    apply = f(1)
  end function
end program
