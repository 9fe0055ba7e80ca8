! `use mpi`: the same procedures with interfaces; choice buffers of any type, kind and rank.
program module_mpi
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer, c_associated
  use mpi
  implicit none
  integer :: ierr, rank, size, errors, total, i, request, status(MPI_STATUS_SIZE), provided, info, length
  integer :: whole(3, 4), scalar, bytes, sources(1), types(2), blocks(2), pair
  integer(kind=MPI_ADDRESS_KIND) :: displacements(2), where_it_is, lower, extent
  integer(kind=MPI_COUNT_KIND) :: count
  double precision, allocatable :: field(:, :, :)
  real, pointer :: memory(:)
  character(len=5) :: word
  character(len=MPI_MAX_INFO_VAL) :: value
  logical :: flag, yes
  type(c_ptr) :: pointer_to_memory
  type(MPI_Status) :: new_status
  type :: mixed
    sequence
    integer :: number
    real :: figure
  end type
  type(mixed) :: record

  errors = 0
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierr)
  call check(ierr == MPI_SUCCESS .and. provided >= MPI_THREAD_FUNNELED, 'MPI_Init_thread')
  call MPI_Initialized(yes, ierr)
  call check(yes, 'MPI_Initialized')
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)

  ! A scalar, arrays of several kinds and ranks, a section (which the compiler copies), characters
  scalar = merge(42, 0, rank == 0)
  call MPI_Bcast(scalar, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  call check(scalar == 42, 'a scalar')
  allocate (field(2, 3, 4))
  field = rank + 1
  call MPI_Bcast(field, 24, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierr)
  call check(all(field == 1), 'an allocatable array')
  whole = rank
  call MPI_Bcast(whole(2, :), 4, MPI_INTEGER, size - 1, MPI_COMM_WORLD, ierr)
  call check(all(whole(2, :) == size - 1) .and. all(whole(1, :) == rank), 'a section')
  word = merge('hello', '     ', rank == 0)
  call MPI_Bcast(word, 5, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierr)
  call check(word == 'hello', 'characters')
  yes = rank == 0
  call MPI_Allreduce(MPI_IN_PLACE, yes, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierr)
  call check(yes, 'logicals')

  ! A derived type
  call MPI_Get_address(record%number, displacements(1), ierr)
  call MPI_Get_address(record%figure, displacements(2), ierr)
  where_it_is = displacements(1)
  displacements = displacements - where_it_is
  types = [MPI_INTEGER, MPI_REAL]
  blocks = 1
  call MPI_Type_create_struct(2, blocks, displacements, types, pair, ierr)
  call MPI_Type_commit(pair, ierr)
  call MPI_Type_get_extent(pair, lower, extent, ierr)
  call MPI_Type_size_x(pair, count, ierr)
  call check(lower == 0 .and. extent == 8 .and. count == 8, 'the extent of a derived type')
  record = mixed(rank, 0.5)
  call MPI_Sendrecv_replace(record, 1, pair, mod(rank + 1, size), 3, mod(rank + size - 1, size), 3, &
                            MPI_COMM_WORLD, status, ierr)
  call check(record%number == mod(rank + size - 1, size) .and. record%figure == 0.5, 'a derived type')
  call check(status(MPI_SOURCE) == record%number .and. status(MPI_TAG) == 3, 'its status')
  call MPI_Status_f2f08(status, new_status, ierr)
  call check(new_status%MPI_SOURCE == record%number .and. new_status%MPI_TAG == 3, 'MPI_Status_f2f08')
  call MPI_Type_free(pair, ierr)

  ! Memory from MPI, by both forms
  call MPI_Alloc_mem(400_MPI_ADDRESS_KIND, MPI_INFO_NULL, pointer_to_memory, ierr)
  call check(c_associated(pointer_to_memory), 'MPI_Alloc_mem, TYPE(C_PTR)')
  call c_f_pointer(pointer_to_memory, memory, [100])
  memory = rank
  call MPI_Bcast(memory, 100, MPI_REAL, 0, MPI_COMM_WORLD, ierr)
  call check(all(memory == 0), 'a broadcast into it')
  call MPI_Free_mem(memory, ierr)
  call MPI_Alloc_mem(400_MPI_ADDRESS_KIND, MPI_INFO_NULL, where_it_is, ierr)
  call check(where_it_is /= 0, 'MPI_Alloc_mem, an integer')
  call c_f_pointer(transfer(where_it_is, pointer_to_memory), memory, [100])
  call MPI_Free_mem(memory, ierr)
  deallocate (field)

  ! Info: blanks around keys and values do not count
  call MPI_Info_create(info, ierr)
  call MPI_Info_set(info, ' a key ', '  its value ', ierr)
  length = len(value)
  call MPI_Info_get_string(info, 'a key', length, value, flag, ierr)
  call check(flag .and. value == 'its value' .and. length == 9, 'MPI_Info_get_string')
  call MPI_Info_get(info, 'another', len(value), value, flag, ierr)
  call check(.not. flag, 'a key that is not there')
  call MPI_Info_free(info, ierr)
  call check(info == MPI_INFO_NULL, 'MPI_Info_free')

  ! Sizes of variables, kinds by precision
  call MPI_Sizeof(1d0, bytes, ierr)
  call check(bytes == 8, 'MPI_Sizeof')
  call MPI_Type_match_size(MPI_TYPECLASS_REAL, bytes, i, ierr)
  call check(i == MPI_REAL8 .or. i == MPI_DOUBLE_PRECISION, 'MPI_Type_match_size')
  call MPI_Type_create_f90_integer(9, i, ierr)
  call MPI_Type_size(i, bytes, ierr)
  call check(bytes == 4, 'MPI_Type_create_f90_integer')

  ! Persistent requests
  call MPI_Recv_init(sources, 1, MPI_INTEGER, mod(rank + size - 1, size), 5, MPI_COMM_WORLD, request, ierr)
  do i = 1, 3
    call MPI_Start(request, ierr)
    call MPI_Ssend(rank + i, 1, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD, ierr)
    call MPI_Bsend(rank, 0, MPI_INTEGER, MPI_PROC_NULL, 5, MPI_COMM_WORLD, ierr)
    call MPI_Send(rank + i, 1, MPI_INTEGER, mod(rank + 1, size), 5, MPI_COMM_WORLD, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    call check(sources(1) == mod(rank + size - 1, size) + i, 'a persistent request')
  end do
  call MPI_Request_free(request, ierr)

  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
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
