! `use mpi_f08`: types for handles, optional ierror, large counts.
program module_f08
  use mpi_f08
  implicit none
  integer :: rank, size, errors, total, i, left, right, length, index, class
  integer :: values(10), sums(10), counts(4)
  integer(kind=MPI_COUNT_KIND) :: large
  integer(kind=MPI_ADDRESS_KIND) :: lower, extent
  type(MPI_Comm) :: comm, none
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status, statuses(2)
  type(MPI_Datatype) :: vector
  type(MPI_Group) :: group
  type(MPI_Message) :: message
  type(MPI_Session) :: session
  type(MPI_Info) :: info
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=MPI_MAX_ERROR_STRING) :: text
  logical :: flag
  double precision :: start

  errors = 0
  call MPI_Init()
  start = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)

  ! Handles are compared by operators
  none = MPI_COMM_NULL
  call check(none == MPI_COMM_NULL .and. none /= MPI_COMM_WORLD, 'operators of handles')
  call MPI_Comm_dup(MPI_COMM_WORLD, comm)
  call check(comm /= MPI_COMM_NULL .and. comm /= MPI_COMM_WORLD, 'MPI_Comm_dup')

  ! Messages, with ordinary and with large counts
  values = rank
  call MPI_Irecv(sums, 10, MPI_INTEGER, left, 1, comm, requests(1))
  call MPI_Isend(values, 10_MPI_COUNT_KIND, MPI_INTEGER, right, 1, comm, requests(2))
  call MPI_Waitall(2, requests, statuses)
  call check(all(sums == left) .and. all(requests == MPI_REQUEST_NULL), 'a message')
  call check(statuses(1)%MPI_SOURCE == left .and. statuses(1)%MPI_TAG == 1, 'its status')
  call MPI_Get_count(statuses(1), MPI_INTEGER, length)
  call check(length == 10, 'MPI_Get_count')
  call MPI_Get_count(statuses(1), MPI_INTEGER, large)
  call check(large == 10, 'MPI_Get_count, large')
  call MPI_Isend(values, 3, MPI_INTEGER, right, 2, comm, requests(1))
  call MPI_Mprobe(left, 2, comm, message, status)
  call MPI_Mrecv(sums, 10, MPI_INTEGER, message, status)
  call MPI_Get_elements(status, MPI_INTEGER, length)
  call check(length == 3 .and. message == MPI_MESSAGE_NULL, 'a matched probe')
  requests(2) = MPI_REQUEST_NULL
  call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE)
  call check(index == 1, 'MPI_Waitany')
  call MPI_Testany(2, requests, index, flag, MPI_STATUS_IGNORE)
  call check(flag .and. index == MPI_UNDEFINED, 'MPI_Testany')

  ! A derived type
  call MPI_Type_vector(5, 1, 2, MPI_INTEGER, vector)
  call MPI_Type_commit(vector)
  call MPI_Type_get_extent(vector, lower, extent)
  call check(lower == 0 .and. extent == 36, 'MPI_Type_get_extent')
  values = [(i, i = 1, 10)] * (rank + 1)
  call MPI_Bcast(values, 1, vector, size - 1, comm)
  call check(all(values(1:9:2) == [1, 3, 5, 7, 9] * size), 'what a derived type has')
  call check(all(values(2:10:2) == [2, 4, 6, 8, 10] * (rank + 1)), 'what it has not')
  call MPI_Type_free(vector)

  ! Collectives
  values = rank
  call MPI_Allreduce(MPI_IN_PLACE, values, 10, MPI_INTEGER, MPI_MAX, comm)
  call check(all(values == size - 1), 'MPI_Allreduce, MPI_IN_PLACE')
  call MPI_Ireduce(values, sums, 10_MPI_COUNT_KIND, MPI_INTEGER, MPI_SUM, 0, comm, requests(1))
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  if (rank == 0) call check(all(sums == size * (size - 1)), 'MPI_Ireduce')
  if (size <= 4) then
    counts = 0
    counts(rank + 1) = rank
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, counts, 1, MPI_INTEGER, comm)
    call check(all(counts(1:size) == [(i, i = 0, size - 1)]), 'MPI_Allgather, MPI_IN_PLACE')
  end if
  call MPI_Barrier(comm)
  call PMPI_Barrier(comm)

  ! Names, errors, attributes of MPI's
  call MPI_Comm_set_name(comm, 'a name')
  call MPI_Comm_get_name(comm, name, length)
  call check(name == 'a name' .and. length == 6, 'names')
  call MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN)
  call MPI_Send(values, 1, MPI_INTEGER, size, 0, comm, i)
  call MPI_Error_class(i, class)
  call check(class == MPI_ERR_RANK, 'an error')
  call MPI_Error_string(class, text, length)
  call check(length > 0 .and. text(length:) /= ' ', 'MPI_Error_string')
  call MPI_Comm_get_attr(comm, MPI_WTIME_IS_GLOBAL, extent, flag)
  call check(.not. flag .or. extent == 0 .or. extent == 1, 'an attribute')

  ! A session, and a communicator from it
  call MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session)
  call MPI_Group_from_session_pset(session, 'mpi://WORLD', group)
  call MPI_Group_size(group, i)
  call check(i == size, 'the group of a session')
  call MPI_Group_free(group)
  call MPI_Session_finalize(session)
  call MPI_Info_create_env(info)
  call MPI_Info_free(info)

  call MPI_Comm_free(comm)
  call check(comm == MPI_COMM_NULL, 'MPI_Comm_free')
  call check(MPI_Wtime() >= start .and. MPI_Wtick() > 0, 'time')
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
