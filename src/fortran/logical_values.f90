! What this compiler stores as .true. and .false.: fortran.h's meantime_fortran_true and meantime_fortran_false.
module meantime_logical_values
  use, intrinsic :: iso_c_binding, only: c_int
  implicit none
  integer(c_int), bind(C, name="meantime_fortran_true") :: true_value = transfer(.true., 0_c_int)
  integer(c_int), bind(C, name="meantime_fortran_false") :: false_value = transfer(.false., 0_c_int)
end module
