! As hello.c; with all that CMake's FindMPI looks for.
program hello
  use mpi_f08
  implicit none
  character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
  integer :: length, rank, size
  call MPI_Init()
  call MPI_Get_library_version(version, length)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  print '(a, i0, a, i0, 2a)', 'rank ', rank, ' of ', size, ': ', version(:length)
  call MPI_Finalize()
end program
