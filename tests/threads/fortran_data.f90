! What a Fortran program keeps in other places than private_fortran.f90 does is each rank's own: the
! data of a module in a library, numbers of units, standard output, errno, a saved allocatable, a
! thread-private common block, procedures inside procedures; functions of its own by libc's names.
module in_library
  use iso_c_binding
  implicit none
  integer :: counter = 5
  real :: table(4) = [1., 2., 3., 40.]
contains
  integer(c_int) function random(i) bind(C, name="random")
    integer(c_int), value :: i
    random = i * i
  end function

  subroutine count_up()
    counter = counter + 1
  end subroutine
end module
