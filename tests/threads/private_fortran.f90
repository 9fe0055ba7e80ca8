! What a Fortran program keeps is each rank's own: units, saved variables, common blocks, modules,
! the state of random_number.
module kept
  integer :: in_module = 11
end module

program private_fortran
  use iso_c_binding
  use kept
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
  integer, save :: saved = 3
  integer :: in_common, value, seeds(100), count
  common /block/ in_common
  character(300) :: folder, name
  real :: first, second
  error = MPI_Init(c_null_ptr, c_null_ptr)
  error = MPI_Comm_rank(world, rank)
  saved = saved + rank
  in_common = rank
  in_module = in_module + rank
  call get_environment_variable('TMPDIR', folder)
  if (folder == '') folder = '/tmp'
  write (name, '(a,a,i0)') trim(folder), '/unit.', rank
  open (unit=10, file=name)
  error = MPI_Barrier(world)
  write (10, *) rank * 100
  error = MPI_Barrier(world)
  rewind (10)
  read (10, *) value
  close (10, status='delete')
  call random_seed(size=count)
  seeds = rank
  call random_seed(put=seeds(1:count))
  call random_number(first)
  error = MPI_Barrier(world)
  call random_seed(put=seeds(1:count))
  call random_number(second)
  error = MPI_Barrier(world)
  if (value /= rank * 100 .or. saved /= 3 + rank .or. in_common /= rank .or. &
      in_module /= 11 + rank .or. first /= second) then
    print *, 'wrong: rank', rank, value, saved, in_common, in_module, first, second
    stop 1
  end if
  error = MPI_Finalize()
  if (rank == 0) print '(a)', ' No Errors'
end program
