! Procedures of a program that MPI calls: operations, error handlers, attributes' copy and delete functions, generalised
! requests. By mpi_f08; mpif.f has the older ones.
module procedures
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use mpi_f08
  implicit none
  integer :: copies = 0, deletions = 0, errors_seen = 0, last_error = 0, queries = 0, frees = 0, cancels = 0
contains

  ! Not commutative: 2x2 matrices
  subroutine multiply(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: left(:, :, :), right(:, :, :)
    integer :: i
    if (datatype == MPI_DATATYPE_NULL) stop 2
    call c_f_pointer(invec, left, [2, 2, len])
    call c_f_pointer(inoutvec, right, [2, 2, len])
    do i = 1, len
      right(:, :, i) = matmul(left(:, :, i), right(:, :, i))
    end do
  end subroutine

  subroutine add_many(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer(kind=MPI_COUNT_KIND) :: len
    type(MPI_Datatype) :: datatype
    real, pointer :: left(:), right(:)
    if (datatype /= MPI_REAL) stop 3
    call c_f_pointer(invec, left, [len])
    call c_f_pointer(inoutvec, right, [len])
    right = left + right
  end subroutine

  subroutine copy_twice(oldcomm, comm_keyval, extra_state, attribute_val_in, attribute_val_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: extra_state, attribute_val_in, attribute_val_out
    logical :: flag
    if (oldcomm == MPI_COMM_NULL .or. comm_keyval == MPI_KEYVAL_INVALID .or. extra_state /= 4711) stop 4
    copies = copies + 1
    attribute_val_out = 2 * attribute_val_in
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine count_deletion(comm, comm_keyval, attribute_val, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(kind=MPI_ADDRESS_KIND) :: attribute_val, extra_state
    if (comm == MPI_COMM_NULL .or. comm_keyval == MPI_KEYVAL_INVALID .or. extra_state /= 4711) stop 5
    deletions = deletions + int(attribute_val)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine note_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm == MPI_COMM_NULL) stop 6
    errors_seen = errors_seen + 1
    call MPI_Error_class(error_code, last_error)
  end subroutine

  subroutine query(extra_state, status, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    queries = queries + int(extra_state)
    call MPI_Status_set_elements(status, MPI_INTEGER, 3)
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = MPI_UNDEFINED
    status%MPI_TAG = 12
    ierror = MPI_SUCCESS
  end subroutine

  subroutine free_it(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    frees = frees + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine

  subroutine free_and_change(extra_state, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    extra_state = extra_state - 1
    ierror = MPI_SUCCESS
  end subroutine

  subroutine cancel_it(extra_state, complete, ierror)
    integer(kind=MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    if (.not. complete) cancels = cancels + int(extra_state)
    ierror = MPI_SUCCESS
  end subroutine
end module

program callbacks
  use mpi_f08
  use procedures
  implicit none
  integer :: rank, size, errors, total, i, keyval, length, error, again
  integer :: matrix(2, 2), product(2, 2), expected(2, 2)
  integer(kind=MPI_ADDRESS_KIND) :: attribute
  integer(kind=MPI_ADDRESS_KIND), volatile, save :: changed
  real :: numbers(100), sums(100)
  logical :: flag, commutes
  type(MPI_Comm) :: comm, copy
  type(MPI_Op) :: op
  type(MPI_Datatype) :: four
  type(MPI_Errhandler) :: handler
  type(MPI_Request) :: request
  type(MPI_Status) :: status

  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)

  ! Operations
  call MPI_Type_contiguous(4, MPI_INTEGER, four)
  call MPI_Type_commit(four)
  call MPI_Op_create(multiply, .false., op)
  call MPI_Op_commutative(op, commutes)
  call check(.not. commutes, 'MPI_Op_commutative')
  matrix = reshape([1, 1, rank, 1], [2, 2])
  call MPI_Allreduce(matrix, product, 1, four, op, MPI_COMM_WORLD)
  expected = reshape([1, 0, 0, 1], [2, 2])
  do i = 0, size - 1
    expected = matmul(expected, reshape([1, 1, i, 1], [2, 2]))
  end do
  call check(all(product == expected), 'an operation in the order of ranks')
  call MPI_Op_free(op)
  call MPI_Type_free(four)
  do again = 1, 200  ! more than there are slots: a procedure has one slot
    call MPI_Op_create_c(add_many, .true., op)
    if (again == 200) then
      numbers = rank
      call MPI_Allreduce(numbers, sums, 100_MPI_COUNT_KIND, MPI_REAL, op, MPI_COMM_WORLD)
      call check(all(sums == size * (size - 1) / 2), 'an operation with a large count')
    end if
    call MPI_Op_free(op)
  end do

  ! Attributes
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call MPI_Comm_create_keyval(copy_twice, count_deletion, keyval, 4711_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, keyval, 10_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(comm, copy)
  call MPI_Comm_get_attr(copy, keyval, attribute, flag)
  call check(flag .and. attribute == 20 .and. copies == 1, 'an attribute of a copy')
  call MPI_Comm_set_attr(copy, keyval, -1_MPI_ADDRESS_KIND)
  call check(deletions == 20, 'an attribute that is replaced')
  call MPI_Comm_get_attr(copy, keyval, attribute, flag)
  call check(flag .and. attribute == -1, 'a negative attribute')
  call MPI_Comm_free(copy)
  call check(deletions == 19, 'the attribute of a communicator that is freed')
  call MPI_Comm_delete_attr(comm, keyval)
  call check(deletions == 29, 'MPI_Comm_delete_attr')
  call MPI_Comm_free_keyval(keyval)
  call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, keyval, huge(attribute))
  call MPI_Comm_dup(comm, copy)
  call MPI_Comm_get_attr(copy, keyval, attribute, flag)
  call check(flag .and. attribute == huge(attribute), 'MPI_COMM_DUP_FN')
  call MPI_Comm_free(copy)
  call MPI_Comm_free_keyval(keyval)
  call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Comm_set_attr(comm, keyval, 5_MPI_ADDRESS_KIND)
  call MPI_Comm_dup(comm, copy)
  call MPI_Comm_get_attr(copy, keyval, attribute, flag)
  call check(.not. flag, 'MPI_COMM_NULL_COPY_FN')
  call MPI_Comm_free(copy)
  call MPI_Comm_free_keyval(keyval)
  call MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
  call MPI_Type_dup(MPI_INTEGER, four)
  call MPI_Type_set_attr(four, keyval, 6_MPI_ADDRESS_KIND)
  call MPI_Type_get_attr(four, keyval, attribute, flag)
  call check(flag .and. attribute == 6, 'an attribute of a datatype')
  call MPI_Type_free(four)
  call MPI_Type_free_keyval(keyval)

  ! Error handlers
  call MPI_Comm_create_errhandler(note_error, handler)
  call MPI_Comm_set_errhandler(comm, handler)
  call MPI_Send(rank, 1, MPI_INTEGER, size, 0, comm, error)
  call check(errors_seen == 1 .and. last_error == MPI_ERR_RANK, 'an error handler')
  call MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER)
  call check(errors_seen == 2 .and. last_error == MPI_ERR_OTHER, 'MPI_Comm_call_errhandler')
  call MPI_Errhandler_free(handler)
  call check(handler == MPI_ERRHANDLER_NULL, 'MPI_Errhandler_free')
  call MPI_Comm_free(comm)

  ! Generalised requests
  call MPI_Grequest_start(query, free_it, cancel_it, 100_MPI_ADDRESS_KIND, request)
  call MPI_Test(request, flag, status)
  call check(.not. flag, 'a generalised request that is not complete')
  call MPI_Cancel(request)
  call check(cancels == 100, 'its cancel function')
  call MPI_Grequest_complete(request)
  call MPI_Wait(request, status)
  call MPI_Get_elements(status, MPI_INTEGER, length)
  call MPI_Test_cancelled(status, flag)
  call check(length == 3 .and. status%MPI_TAG == 12 .and. .not. flag, 'its status')
  call check(queries == 100 .and. frees == 100, 'its query and free functions')

  ! Of which a function changes the extra state: in a static variable, too, as with MPICH and Open MPI
  changed = 100
  call MPI_Grequest_start(query, free_and_change, cancel_it, changed, request)
  call MPI_Grequest_complete(request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call check(changed == 99, 'an extra state that was changed')

  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (total /= 0) stop 1
  if (rank == 0) print '(a)', ' No Errors'

contains

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    errors = errors + 1
    print '(a,i0,2a)', 'rank ', rank, ': wrong: ', what
  end subroutine
end program
