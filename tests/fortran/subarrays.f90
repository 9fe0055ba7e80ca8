! mpi_f08 with buffers that are not contiguous: blocking, nonblocking, persistent, reductions.
program subarrays
  use mpi_f08
  implicit none
  integer, asynchronous :: grid(6, 8), other(6, 8)
  integer :: rank, size, errors, total, i, j, left, right, square(5, 5), picked(3), index, count
  integer, allocatable :: all_of_them(:), counts(:), places(:)
  double precision :: cube(4, 4, 4)
  complex :: numbers(10)
  character(len=3) :: words(6)
  logical :: flag
  type :: particle
    sequence
    double precision :: mass
    integer :: kind, padding
  end type
  type(particle) :: particles(8)
  type(MPI_Request) :: requests(3)
  type(MPI_Status) :: status
  type(MPI_Datatype) :: pairs

  errors = 0
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  right = mod(rank + 1, size)
  left = mod(rank + size - 1, size)
  call check(MPI_SUBARRAYS_SUPPORTED, 'MPI_SUBARRAYS_SUPPORTED')

  ! Rows of a matrix, backwards too
  call fill(grid, rank)
  other = -1
  call MPI_Sendrecv(grid(2, :), 8, MPI_INTEGER, right, 0, other(5, 8:1:-1), 8, MPI_INTEGER, left, 0, &
                    MPI_COMM_WORLD, status)
  call check(all(other(5, :) == [(value(2, j, left), j = 8, 1, -1)]), 'a row, backwards')
  call check(all(other(1:4, :) == -1) .and. all(other(6, :) == -1), 'what is beside it')

  ! Nonblocking, completed one by one
  other = -1
  call MPI_Irecv(other(1:6:2, 1:8:3), 9, MPI_INTEGER, left, 1, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(other(2:6:2, 2:8:3), 9, MPI_INTEGER, left, 2, MPI_COMM_WORLD, requests(2))
  call MPI_Isend(grid(1:6:2, 1:8:3), 9, MPI_INTEGER, right, 1, MPI_COMM_WORLD, requests(3))
  call MPI_Send(grid(2:6:2, 2:8:3), 9, MPI_INTEGER, right, 2, MPI_COMM_WORLD)
  do i = 1, 3
    call MPI_Waitany(3, requests, index, status)
  end do
  call check(all(requests == MPI_REQUEST_NULL), 'MPI_Waitany')
  do j = 1, 8
    do i = 1, 6
      if (mod(i, 2) == 1 .and. mod(j, 3) == 1 .or. mod(i, 2) == 0 .and. mod(j, 3) == 2) then
        call check(other(i, j) == value(i, j, left), 'a nonblocking subarray')
      else
        call check(other(i, j) == -1, 'what is between its elements')
      end if
    end do
  end do

  ! A message that is shorter than the section leaves the rest alone
  picked = 7
  square = 0
  call MPI_Irecv(square(3, 1:5:2), 3, MPI_INTEGER, left, 3, MPI_COMM_WORLD, requests(1))
  call MPI_Send(picked, 2, MPI_INTEGER, right, 3, MPI_COMM_WORLD)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(requests(1), flag, status)
  end do
  call MPI_Get_count(status, MPI_INTEGER, count)
  call check(count == 2 .and. all(square(3, :) == [7, 0, 7, 0, 0]), 'a short message')

  ! What lies between a datatype's elements is the program's, while the receive is under way
  call MPI_Type_vector(3, 1, 2, MPI_INTEGER, pairs)
  call MPI_Type_commit(pairs)
  square = 0
  call MPI_Irecv(square(3, :), 1, pairs, left, 8, MPI_COMM_WORLD, requests(1))
  square(3, 2) = 50
  square(3, 4) = 51
  call MPI_Send([1, 2, 3], 3, MPI_INTEGER, right, 8, MPI_COMM_WORLD)
  call MPI_Wait(requests(1), status)
  call check(all(square(3, :) == [1, 50, 2, 51, 3]), 'gaps')
  call MPI_Type_free(pairs)

  ! Complete for MPI_Request_get_status is there, and what the program changes then stays
  square = 0
  call MPI_Irecv(square(2, 1:5:2), 3, MPI_INTEGER, left, 9, MPI_COMM_WORLD, requests(1))
  call MPI_Irecv(square(4, 1:5:2), 3, MPI_INTEGER, left, 10, MPI_COMM_WORLD, requests(2))
  call MPI_Send(picked, 3, MPI_INTEGER, right, 9, MPI_COMM_WORLD)
  call MPI_Send(picked, 3, MPI_INTEGER, right, 10, MPI_COMM_WORLD)
  flag = .false.
  do while (.not. flag)
    call MPI_Request_get_status(requests(1), flag, status)
  end do
  call check(all(square(2, :) == [7, 0, 7, 0, 7]), 'MPI_Request_get_status')
  flag = .false.
  do while (.not. flag)
    call MPI_Request_get_status_all(2, requests(1:2), flag, MPI_STATUSES_IGNORE)
  end do
  call check(all(square(4, :) == [7, 0, 7, 0, 7]), 'MPI_Request_get_status_all')
  square(2, :) = 1
  call MPI_Waitall(2, requests(1:2), MPI_STATUSES_IGNORE)
  call check(all(square(2, :) == 1) .and. all(square(4, :) == [7, 0, 7, 0, 7]), 'MPI_Waitall after it')

  ! Freed while it is under way: its copy stays until it is complete, whoever gets its number
  do i = 1, 20
    call MPI_Issend(grid(3, 1:8:2), 4, MPI_INTEGER, right, 11, MPI_COMM_WORLD, requests(1))
    call MPI_Request_free(requests(1))
    call MPI_Irecv(square(1, 1:5:4), 2, MPI_INTEGER, left, 12, MPI_COMM_WORLD, requests(1))
    call MPI_Send(picked, 2, MPI_INTEGER, right, 12, MPI_COMM_WORLD)
    call MPI_Wait(requests(1), status)
    call MPI_Recv(other(2, 1:8:2), 4, MPI_INTEGER, left, 11, MPI_COMM_WORLD, status)
    call check(all(other(2, 1:8:2) == [(value(3, j, left), j = 1, 7, 2)]), 'a freed request')
  end do

  ! Persistent: what the array holds when it starts
  call MPI_Send_init(grid(1, 1:8:2), 4, MPI_INTEGER, right, 4, MPI_COMM_WORLD, requests(1))
  call MPI_Recv_init(other(6, 2:8:2), 4, MPI_INTEGER, left, 4, MPI_COMM_WORLD, requests(2))
  do i = 1, 3
    call fill(grid, rank + 1000 * i)
    call MPI_Startall(2, requests)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call check(all(other(6, 2:8:2) == [(value(1, j, left + 1000 * i), j = 1, 7, 2)]), 'a persistent subarray')
    other(6, :) = 0
    call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
    call check(all(other(6, :) == 0), 'MPI_Wait on an inactive request')
  end do
  call MPI_Request_free(requests(1))
  call MPI_Request_free(requests(2))

  ! Collectives, with reductions: these need the elements' own type
  cube = rank
  call MPI_Bcast(cube(2, 2:4, 1:4:3), 6, MPI_DOUBLE_PRECISION, size - 1, MPI_COMM_WORLD)
  call check(all(cube(2, 2:4, 1:4:3) == size - 1) .and. all(cube(2, 2:4, 2:3) == rank), 'MPI_Bcast of a face')
  cube = rank
  call MPI_Allreduce(MPI_IN_PLACE, cube(:, 1, ::2), 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  call check(all(cube(:, 1, ::2) == size * (size - 1) / 2), 'MPI_Allreduce in place')
  cube = rank
  call MPI_Iallreduce(cube(1, :, 1), cube(3, :, 3), 4, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, requests(1))
  call MPI_Wait(requests(1), status)
  call check(all(cube(3, :, 3) == size - 1) .and. all(cube(2, :, 3) == rank), 'MPI_Iallreduce')
  allocate (all_of_them(4 * size), counts(size), places(size))
  all_of_them = -1
  counts = 1
  places = [(2 * i, i = size - 1, 0, -1)]
  call MPI_Allgatherv(grid(3:3, 2), 1, MPI_INTEGER, all_of_them(::2), counts, places, MPI_INTEGER, MPI_COMM_WORLD)
  call check(all([(all_of_them(1 + 4 * i), i = 0, size - 1)] == &
                 [(value(3, 2, i + 3000), i = size - 1, 0, -1)]), 'MPI_Allgatherv with places')
  call check(count_of(all_of_them, -1) == 3 * size, 'and nothing else')
  deallocate (all_of_them, counts, places)

  ! Other types, a derived datatype over a section, and large counts
  numbers = cmplx(rank, -rank)
  call MPI_Bcast(numbers(10:1:-3), 4_MPI_COUNT_KIND, MPI_COMPLEX, 0, MPI_COMM_WORLD)
  call check(all(numbers(10:1:-3) == 0) .and. all(numbers(2:3) == cmplx(rank, -rank)), 'complex numbers')
  words = 'abc'
  if (rank == 0) words = 'xyz'
  call MPI_Bcast(words(1:6:2), 9, MPI_CHARACTER, 0, MPI_COMM_WORLD)
  call check(all(words(1:6:2) == 'xyz'), 'strings')
  particles = particle(rank, rank, 0)
  call MPI_Bcast(particles(2:8:2)%kind, 4, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call check(all(particles(2:8:2)%kind == 0) .and. all(particles(1:7:2)%kind == rank), 'a component')
  call check(all(particles%mass == rank), 'the other component')
  call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pairs)
  call MPI_Type_commit(pairs)
  square = rank
  call MPI_Bcast(square(2, :), 1, pairs, size - 1, MPI_COMM_WORLD)
  call check(all(square(2, :) == [size - 1, rank, size - 1, rank, rank]), 'a datatype over a section')
  call MPI_Type_free(pairs)

  ! Contiguous ones are used in place: the address is the array's
  call assumed_size(grid, 48)
  call MPI_Bcast(grid(:, 3:3), 0, MPI_INTEGER, 0, MPI_COMM_WORLD)
  call MPI_Bcast(grid(1:0, :), 0, MPI_INTEGER, 0, MPI_COMM_WORLD)

  call MPI_Allreduce(errors, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (total /= 0) stop 1
  if (rank == 0) print '(a)', ' No Errors'

contains

  elemental integer function value(row, column, of)
    integer, intent(in) :: row, column, of
    value = row + 10 * column + 100 * of
  end function

  subroutine fill(array, of)
    integer, intent(out) :: array(:, :)
    integer, intent(in) :: of
    integer :: row, column
    do column = 1, ubound(array, 2)
      do row = 1, ubound(array, 1)
        array(row, column) = value(row, column, of)
      end do
    end do
  end subroutine

  subroutine assumed_size(array, length)
    integer :: array(*)
    integer, intent(in) :: length
    if (rank == 0) array(length) = 4711
    call MPI_Bcast(array, length, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call check(array(length) == 4711, 'an assumed-size array')
  end subroutine

  integer function count_of(array, wanted)
    integer, intent(in) :: array(:), wanted
    count_of = count_true(array == wanted)
  end function

  integer function count_true(what)
    logical, intent(in) :: what(:)
    integer :: k
    count_true = sum([(merge(1, 0, what(k)), k = 1, ubound(what, 1))])
  end function

  subroutine check(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    if (right) return
    errors = errors + 1
    print '(a,i0,2a)', 'rank ', rank, ': wrong: ', what
  end subroutine
end program
