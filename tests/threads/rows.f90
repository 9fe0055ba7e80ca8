! The rows of what does not just work with many images in one process, in Fortran, beyond
! private_fortran.f90 and fortran_data_program.f90: units that are redirected or found by inquire,
! threadprivate data, folders, children, random numbers of GNU's, arguments, formats of real numbers.
program rows
  use iso_c_binding
  use iso_fortran_env
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
  integer, save :: of_thread = 70
  !$omp threadprivate(of_thread)
  integer(c_int) :: error, rank
  integer :: unit, number, status, wrong, seen(2)
  real :: drawn
  logical :: there, open_there
  character(200) :: name, line, folder
  character(20) :: argument

  wrong = 0
  error = MPI_Init(c_null_ptr, c_null_ptr)
  error = MPI_Comm_rank(257_c_intptr_t, rank)
  call get_command_argument(1, argument)
  call check(argument == 'word', 'an argument')

  ! Thread-local data, of the rank's own thread and of its team.
  of_thread = of_thread + rank
  error = MPI_Barrier(257_c_intptr_t)
  seen = 0
  !$omp parallel num_threads(2) shared(seen)
  call note(seen)
  !$omp end parallel
  call check(of_thread == 70 + rank, 'threadprivate')
  call check(any(seen == 70 + rank), 'threadprivate in a team')

  ! A folder of its own, and numbers of units that all have.
  write (folder, '(a,i0)') 'rows.', rank
  call execute_command_line('mkdir ' // trim(folder), exitstat=status)
  call check(status == 0, 'execute_command_line')
  call chdir(trim(folder), status)
  call check(status == 0, 'chdir')
  error = MPI_Barrier(257_c_intptr_t)
  call getcwd(name)
  call check(index(name, trim(folder)) > 0, 'getcwd')
  open (newunit=unit, file='direct', form='unformatted', access='direct', recl=8)
  write (unit, rec=3) rank, 2 * rank
  error = MPI_Barrier(257_c_intptr_t)
  read (unit, rec=3) number, status
  call check(number == rank .and. status == 2 * rank, 'a direct file')
  inquire (unit=unit, opened=open_there, name=name)
  call check(open_there .and. index(name, 'direct') > 0, 'inquire by unit')
  close (unit, status='delete')
  inquire (file='direct', exist=there)
  call check(.not. there, 'inquire by file')

  ! Standard output to a file, and what two ranks write to unit 9 without opening it.
  open (unit=output_unit, file='out')
  print '(a,i0)', 'rank ', rank
  write (9, '(i0)') rank
  error = MPI_Barrier(257_c_intptr_t)
  flush (output_unit)
  close (output_unit)
  open (newunit=unit, file='out', status='old')
  read (unit, '(a)') line
  call check(line == trim(text_of(rank)), 'output to a file')
  close (unit, status='delete')
  rewind (9)
  read (9, *) number
  call check(number == rank, 'a unit that was not opened')
  close (9, status='delete')
  open (newunit=unit, file='no such file', status='old', iostat=status)
  error = MPI_Barrier(257_c_intptr_t)
  call check(status /= 0 .and. ierrno() == 2, 'iostat, ierrno')

  ! GNU's random numbers: the same ones again for the same seed.
  call srand(rank + 1)
  drawn = rand()
  error = MPI_Barrier(257_c_intptr_t)
  call srand(rank + 1)
  call check(drawn == rand(), 'rand')

  ! Writing to a text while another rank does.
  write (line, '(f8.3)') rank + 0.125
  error = MPI_Barrier(257_c_intptr_t)
  read (line, *) drawn
  call check(drawn == rank + 0.125, 'internal units')

  call chdir('..', status)
  call execute_command_line('rmdir ' // trim(folder), exitstat=status)
  call check(status == 0, 'rmdir')
  error = MPI_Finalize()
  if (wrong > 0) stop 1
  if (rank == 0) write (error_unit, '(a)') ' No Errors'

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (.not. right) then
      wrong = wrong + 1
      write (error_unit, *) 'rank', rank, ': wrong: ', what
    end if
  end subroutine

  subroutine note(all)
    integer, intent(inout) :: all(2)
    !$omp critical
    if (all(1) == 0) then
      all(1) = of_thread
    else
      all(2) = of_thread
    end if
    !$omp end critical
  end subroutine

  function text_of(number) result(text)
    integer, intent(in) :: number
    character(30) :: text
    write (text, '(a,i0)') 'rank ', number
  end function
end program
