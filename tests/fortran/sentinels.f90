! What stands for "nothing" or for a place, in the modules; logicals and characters in both directions.
module old_ones
  use mpi
  implicit none
contains
  ! mpif.h's and the module mpi's sentinels are the same variables as mpi_f08's.
  subroutine with_module_mpi(errors)
    integer, intent(inout) :: errors
    integer :: ierr, rank, size, values(2), statuses(MPI_STATUS_SIZE, 2), requests(2), distributed
    integer, parameter :: none(1) = 0
    logical :: reorder
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    values = rank
    call MPI_Allreduce(MPI_IN_PLACE, values, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (any(values /= size * (size - 1) / 2)) errors = errors + 1
    call MPI_Irecv(values, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(values, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    call MPI_Irecv(values, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(values, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, statuses, ierr)
    if (statuses(MPI_SOURCE, 1) /= MPI_PROC_NULL .or. statuses(MPI_TAG, 1) /= MPI_ANY_TAG) errors = errors + 1
    reorder = .false.
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [rank], [2], 0, none, MPI_WEIGHTS_EMPTY, &
                                        MPI_INFO_NULL, reorder, distributed, ierr)
    if (ierr == MPI_SUCCESS) call MPI_Comm_free(distributed, ierr)
  end subroutine
end module

program sentinels
  use mpi_f08
  use old_ones, only: with_module_mpi
  implicit none
  integer :: rank, size, errors, total, i, j, left, right, length, inside, outside
  integer :: values(4), in_weights(2), out_weights(2), sources(2), destinations(2), dims(2), coordinates(2)
  integer(kind=MPI_ADDRESS_KIND) :: address
  logical :: weighted, periods(2), flag, remain(2)
  character(len=MPI_MAX_PROCESSOR_NAME) :: name
  character(len=3) :: short
  character(len=2000) :: long
  character(len=MPI_MAX_INFO_KEY) :: key
  type(MPI_Comm) :: graph, grid, row
  type(MPI_Datatype) :: type
  type(MPI_Info) :: info
  type(MPI_Status) :: status
  type(MPI_Request) :: requests(2)

  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call with_module_mpi(errors)
  call check(errors == 0, 'the sentinels of the module mpi')

  ! MPI_BOTTOM
  values = rank
  call MPI_Get_address(values, address)
  call MPI_Type_create_hindexed(1, [4], [address], MPI_INTEGER, type)
  call MPI_Type_commit(type)
  call MPI_Bcast(MPI_BOTTOM, 1, type, size - 1, MPI_COMM_WORLD)
  call check(all(values == size - 1), 'MPI_BOTTOM')
  call MPI_Isend(MPI_BOTTOM, 1, type, right, 0, MPI_COMM_WORLD, requests(1))
  call MPI_Recv(values, 4, MPI_INTEGER, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
  call MPI_Type_free(type)

  ! MPI_STATUS_IGNORE leaves its neighbours alone
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, right, 1, i, 1, MPI_INTEGER, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call check(i == left, 'MPI_STATUS_IGNORE')
  call MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, status)
  call check(status%MPI_SOURCE == MPI_PROC_NULL, 'a status beside it')

  ! Weights
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .false., graph)
  call MPI_Dist_graph_neighbors_count(graph, inside, outside, weighted)
  call check(inside == 1 .and. outside == 1 .and. .not. weighted, 'MPI_UNWEIGHTED')
  call MPI_Dist_graph_neighbors(graph, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED)
  call check(sources(1) == left .and. destinations(1) == right, 'neighbors without weights')
  call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, i, 1, MPI_INTEGER, graph)
  call check(i == left, 'MPI_Neighbor_allgather')
  call MPI_Neighbor_alltoallw([rank], [1], [0_MPI_ADDRESS_KIND], [MPI_INTEGER], values, [1], &
                              [4_MPI_ADDRESS_KIND], [MPI_INTEGER], graph)
  call check(values(2) == left, 'MPI_Neighbor_alltoallw')
  call MPI_Comm_free(graph)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], [3], 1, [right], [4], MPI_INFO_NULL, .false., graph)
  call MPI_Dist_graph_neighbors(graph, 1, sources, in_weights, 1, destinations, out_weights)
  call check(in_weights(1) == 3 .and. out_weights(1) == 4, 'weights')
  call MPI_Comm_free(graph)

  ! Logicals
  dims = [size, 1]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., grid)
  call MPI_Cart_get(grid, 2, dims, periods, coordinates)
  call check(periods(1) .and. .not. periods(2) .and. coordinates(1) == rank, 'MPI_Cart_get')
  remain = [.false., .true.]
  call MPI_Cart_sub(grid, remain, row)
  call MPI_Comm_size(row, i)
  call check(i == 1, 'MPI_Cart_sub')
  call MPI_Cart_shift(grid, 0, 1, i, j)
  call check(i == left .and. j == right, 'MPI_Cart_shift')
  call MPI_Comm_free(row)
  call MPI_Comm_free(grid)
  call MPI_Comm_test_inter(MPI_COMM_WORLD, flag)
  call check(.not. flag, 'MPI_Comm_test_inter')
  call MPI_Abi_get_fortran_booleans(storage_size(.true.) / 8, periods(1), periods(2), flag)
  call check(flag .and. periods(1) .and. .not. periods(2), 'MPI_Abi_get_fortran_booleans')

  ! Characters: filled up with blanks, cut off where there is no room
  call MPI_Get_processor_name(name, length)
  call check(length > 0 .and. length <= len(name) .and. name(length + 1:) == ' ', 'MPI_Get_processor_name')
  call MPI_Comm_set_name(MPI_COMM_WORLD, '  with blanks around  ')
  call MPI_Comm_get_name(MPI_COMM_WORLD, name, length)
  call check(name == '  with blanks around' .and. length == 20, 'leading blanks of a name')
  call MPI_Type_get_name(MPI_INTEGER, name, length)
  call check(name == 'MPI_INTEGER', 'MPI_Type_get_name')
  call MPI_Info_create(info)
  call MPI_Info_set(info, ' key', 'a long value')
  short = '???'
  i = 3
  call MPI_Info_get_string(info, 'key  ', i, short, flag)
  call check(flag .and. short == 'a l' .and. i == 12, 'MPI_Info_get_string with little room')
  i = len(long)
  call MPI_Info_get_string(info, 'key', i, long, flag)
  call check(flag .and. long == 'a long value' .and. i == 12, 'MPI_Info_get_string with much room')
  call MPI_Info_get(info, 'key', len(name), name, flag)
  call check(flag .and. name == 'a long value', 'MPI_Info_get')
  call MPI_Info_get_valuelen(info, 'key', i, flag)
  call check(flag .and. i == 12, 'MPI_Info_get_valuelen')
  call MPI_Info_get_nthkey(info, 0, key)
  call check(key == 'key', 'MPI_Info_get_nthkey')
  call MPI_Info_free(info)

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
