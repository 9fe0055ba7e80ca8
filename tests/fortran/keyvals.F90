! Attributes of communicators, datatypes and windows under keys whose copy and delete functions are Fortran's: the same program
! by mpi_f08, by the module mpi (-DBY_MPI) and by mpif.h (-DBY_MPIF).
#if defined(BY_MPI)
#define USE_MPI use mpi
#define AND_MPIF
#define OBJECT(kind) integer
#elif defined(BY_MPIF)
#define USE_MPI
#define AND_MPIF include 'mpif.h'
#define OBJECT(kind) integer
#else
#define USE_MPI use mpi_f08
#define AND_MPIF
#define OBJECT(kind) type(kind)
#endif

! Kind 1 are communicators, 2 datatypes, 3 windows. What is copied is twice as large; 13 is not copied, and cannot be deleted.
module functions
  USE_MPI
  implicit none
  AND_MPIF
  integer, parameter :: integers = MPI_ADDRESS_KIND
  integer :: copies(3) = 0, deletions(3) = 0, errors = 0
contains

  subroutine check(right, what, kind)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    integer, intent(in) :: kind
    if (right) return
    errors = errors + 1
    print '(3a,i0)', 'wrong: ', what, ', kind ', kind
  end subroutine

  subroutine copy(kind, keyval, extra_state, value_in, value_out, flag, ierror)
    integer :: kind, keyval, ierror
    integer(kind=integers) :: extra_state, value_in, value_out
    logical :: flag
    call check(extra_state == -kind, 'the extra state of a copy', kind)
    call check(keyval /= MPI_KEYVAL_INVALID, 'the key of a copy', kind)
    copies(kind) = copies(kind) + 1
    flag = value_in /= 13
    if (flag) value_out = 2 * value_in
    ierror = MPI_SUCCESS
  end subroutine

  subroutine erase(kind, keyval, value, extra_state, ierror)
    integer :: kind, keyval, ierror
    integer(kind=integers) :: value, extra_state
    call check(extra_state == -kind, 'the extra state of a deletion', kind)
    call check(keyval /= MPI_KEYVAL_INVALID, 'the key of a deletion', kind)
    deletions(kind) = deletions(kind) + int(value)
    ierror = MPI_SUCCESS
    if (value == 13) ierror = MPI_ERR_OTHER
  end subroutine

  subroutine copy_of_comm(comm, keyval, extra_state, value_in, value_out, flag, ierror)
    OBJECT(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(kind=integers) :: extra_state, value_in, value_out
    logical :: flag
    call check(comm /= MPI_COMM_NULL, 'the object of a copy', 1)
    call copy(1, keyval, extra_state, value_in, value_out, flag, ierror)
  end subroutine

  subroutine erase_of_comm(comm, keyval, value, extra_state, ierror)
    OBJECT(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(kind=integers) :: value, extra_state
    call check(comm /= MPI_COMM_NULL, 'the object of a deletion', 1)
    call erase(1, keyval, value, extra_state, ierror)
  end subroutine

  subroutine copy_of_type(datatype, keyval, extra_state, value_in, value_out, flag, ierror)
    OBJECT(MPI_Datatype) :: datatype
    integer :: keyval, ierror
    integer(kind=integers) :: extra_state, value_in, value_out
    logical :: flag
    call check(datatype /= MPI_DATATYPE_NULL, 'the object of a copy', 2)
    call copy(2, keyval, extra_state, value_in, value_out, flag, ierror)
  end subroutine

  subroutine erase_of_type(datatype, keyval, value, extra_state, ierror)
    OBJECT(MPI_Datatype) :: datatype
    integer :: keyval, ierror
    integer(kind=integers) :: value, extra_state
    call check(datatype /= MPI_DATATYPE_NULL, 'the object of a deletion', 2)
    call erase(2, keyval, value, extra_state, ierror)
  end subroutine

  ! No call duplicates a window.
  subroutine copy_of_win(win, keyval, extra_state, value_in, value_out, flag, ierror)
    OBJECT(MPI_Win) :: win
    integer :: keyval, ierror
    integer(kind=integers) :: extra_state, value_in, value_out
    logical :: flag
    call check(win == MPI_WIN_NULL, 'that a window is copied', 3)
    call copy(3, keyval, extra_state, value_in, value_out, flag, ierror)
  end subroutine

  subroutine erase_of_win(win, keyval, value, extra_state, ierror)
    OBJECT(MPI_Win) :: win
    integer :: keyval, ierror
    integer(kind=integers) :: value, extra_state
    call check(win /= MPI_WIN_NULL, 'the object of a deletion', 3)
    call erase(3, keyval, value, extra_state, ierror)
  end subroutine
end module

program keyvals
  use functions
  implicit none
  integer :: key, other, rank, total, ierror
  integer(kind=integers) :: value, memory
  logical :: flag
  OBJECT(MPI_Comm) :: comm, second_comm
  OBJECT(MPI_Datatype) :: datatype, second_type
  OBJECT(MPI_Win) :: win

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN, ierror)

  call MPI_Comm_dup(MPI_COMM_WORLD, comm, ierror)
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN, ierror)
  call MPI_Comm_create_keyval(copy_of_comm, erase_of_comm, key, -1_integers, ierror)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, other, 0_integers, ierror)
  call MPI_Comm_set_attr(comm, key, 10_integers, ierror)
  call MPI_Comm_set_attr(comm, other, 7_integers, ierror)
  call MPI_Comm_dup(comm, second_comm, ierror)
  call MPI_Comm_get_attr(second_comm, key, value, flag, ierror)
  call check(flag .and. value == 20, 'the attribute of a copy', 1)
  call MPI_Comm_get_attr(second_comm, other, value, flag, ierror)
  call check(flag .and. value == 7, 'an attribute that is handed on', 1)
  call MPI_Comm_free(second_comm, ierror)
  call MPI_Comm_set_attr(comm, key, 13_integers, ierror)
  call check(deletions(1) == 30, 'a deletion by a new value', 1)
  call MPI_Comm_dup(comm, second_comm, ierror)
  call MPI_Comm_get_attr(second_comm, key, value, flag, ierror)
  call check(.not. flag, 'that it was not to be copied', 1)
  call MPI_Comm_free(second_comm, ierror)
  call MPI_Comm_delete_attr(comm, key, ierror)
  call check(ierror /= MPI_SUCCESS, 'that it cannot be deleted', 1)
  call MPI_Comm_get_attr(comm, key, value, flag, ierror)
  call check(flag .and. value == 13, 'what cannot be deleted', 1)
  call MPI_Comm_free_keyval(other, ierror)
  call check(copies(1) == 2 .and. deletions(1) == 43, 'the number of calls', 1)

  call MPI_Type_dup(MPI_INTEGER, datatype, ierror)
  call MPI_Type_create_keyval(copy_of_type, erase_of_type, key, -2_integers, ierror)
  call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, other, 0_integers, ierror)
  call MPI_Type_set_attr(datatype, key, 10_integers, ierror)
  call MPI_Type_set_attr(datatype, other, 7_integers, ierror)
  call MPI_Type_dup(datatype, second_type, ierror)
  call MPI_Type_get_attr(second_type, key, value, flag, ierror)
  call check(flag .and. value == 20, 'the attribute of a copy', 2)
  call MPI_Type_get_attr(second_type, other, value, flag, ierror)
  call check(.not. flag, 'an attribute that is not handed on', 2)
  call MPI_Type_free(second_type, ierror)
  call MPI_Type_set_attr(datatype, key, 13_integers, ierror)
  call check(deletions(2) == 30, 'a deletion by a new value', 2)
  call MPI_Type_dup(datatype, second_type, ierror)
  call MPI_Type_get_attr(second_type, key, value, flag, ierror)
  call check(.not. flag, 'that it was not to be copied', 2)
  call MPI_Type_free(second_type, ierror)
  call MPI_Type_delete_attr(datatype, key, ierror)
  call check(ierror /= MPI_SUCCESS, 'that it cannot be deleted', 2)
  call MPI_Type_get_attr(datatype, key, value, flag, ierror)
  call check(flag .and. value == 13, 'what cannot be deleted', 2)
  call MPI_Type_free_keyval(other, ierror)
  call MPI_Type_free_keyval(key, ierror)
  call check(key == MPI_KEYVAL_INVALID .and. other == MPI_KEYVAL_INVALID, 'the freed keys', 2)
  call check(copies(2) == 2 .and. deletions(2) == 43, 'the number of calls', 2)

  call MPI_Win_create(memory, int(sizeof(memory), integers), 1, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_Win_create_keyval(copy_of_win, erase_of_win, key, -3_integers, ierror)
  call MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, other, 0_integers, ierror)
  call MPI_Win_get_attr(win, key, value, flag, ierror)
  call check(.not. flag, 'an attribute that was not set', 3)
  call MPI_Win_set_attr(win, key, 10_integers, ierror)
  call MPI_Win_set_attr(win, other, 7_integers, ierror)
  call MPI_Win_get_attr(win, key, value, flag, ierror)
  call check(flag .and. value == 10, 'an attribute', 3)
  call MPI_Win_set_attr(win, key, 20_integers, ierror)
  call check(deletions(3) == 10, 'a deletion by a new value', 3)
  call MPI_Win_delete_attr(win, key, ierror)
  call check(deletions(3) == 30, 'a deletion', 3)
  call MPI_Win_set_attr(win, key, 1_integers, ierror)
  call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierror)
  call check(flag .and. value == 1, 'an attribute of MPI', 3)
  call MPI_Win_free_keyval(key, ierror)
  call MPI_Win_free(win, ierror)
  call check(deletions(3) == 31, 'the attribute of a window that is freed', 3)
  call MPI_Win_free_keyval(other, ierror)
  call check(copies(3) == 0, 'the number of copies', 3)

  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. total == 0) print '(a)', ' No Errors'
  call MPI_Finalize(ierror)
  if (total /= 0) stop 1
end program
