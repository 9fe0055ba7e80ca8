! A tool in C (with_tool_side.c) in front of MPI_Send sees what Fortran sends by every interface, but not by PMPI.
module by_module_mpi
  use mpi
  implicit none
contains
  subroutine send_by_module_mpi()
    integer :: ierr
    call MPI_Send([1], 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierr)
    call PMPI_Send([1], 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, ierr)
  end subroutine
end module

program with_tool
  use, intrinsic :: iso_c_binding, only: c_int
  use mpi_f08
  use by_module_mpi, only: send_by_module_mpi
  implicit none
  interface
    integer(c_int) function sends_seen() bind(C)
      import
    end function
  end interface
  integer :: rank
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Send([1], 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
  call PMPI_Send([1], 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD)
  call send_by_module_mpi()
  if (sends_seen() /= 2) stop 1
  call MPI_Finalize()
  if (rank == 0) print '(a)', ' No Errors'
end program
