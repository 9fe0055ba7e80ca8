/* A correct program where the node's segment is full (ulimit -f): every way to send, with more
   under way than there is memory for. Every message's contents and each sender's order are checked.
   full WHAT MESSAGES BYTES [UNREAD BYTES_OF_THEM] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, messages, bytes;
static long wrong;

static void fill(char* data, int number) {
  for (int i = 0; i < bytes; ++i) data[i] = (char)(number * 7 + i);
  if (bytes >= 4) memcpy(data, &number, 4);
}

static void check(const char* data, int number) {
  int got = number;
  if (bytes >= 4) memcpy(&got, data, 4);
  wrong += got != number;
  for (int i = 4; i < bytes; ++i) wrong += data[i] != (char)(number * 7 + i);
}

static void receive_all(int senders, int tag) {
  char* in = malloc(bytes + 1);
  int* next = calloc(size, sizeof *next);
  for (long m = 0; m < (long)messages * senders; ++m) {
    MPI_Status status;
    MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    check(in, next[status.MPI_SOURCE]++);
    if (m % 1000 == 0) usleep(1000);
  }
  free(next);
  free(in);
}

typedef int sender(const void*, int, MPI_Datatype, int, int, MPI_Comm);

/* All flood rank 1, which begins late; a Barrier then needs memory of who has none. */
static void one_way(sender* send) {
  char* out = malloc(bytes + 1);
  if (rank == 1) {
    usleep(30000);
    receive_all(size - 1, 3);
  } else {
    for (int m = 0; m < messages; ++m) {
      fill(out, m);
      send(out, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
    }
  }
  free(out);
}

static void broadcast(void) {
  static char large[200000];
  MPI_Bcast(large, sizeof large, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* Asks for what does not come before somebody else can go on. */
static void broadcast_to_who_asks(void) {
  int flag = 0;
  while (rank == 1 && !flag) MPI_Iprobe(0, 4, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  broadcast();
}

static void make_communicators(void) {
  enum { many = 130 }; /* more than two pages of the segment have contexts for */
  MPI_Comm made[many];
  for (int i = 0; i < many; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &made[i]);
  for (int i = 0; i < many; ++i) MPI_Comm_free(&made[i]);
}

static void make_window(void) {
  MPI_Win window;
  void* base;
  MPI_Win_allocate_shared(50000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  MPI_Win_free(&window);
}

/* As many as there are, then one that there is no memory for: all ranks are told, and go on. */
static void windows_until_full(void) {
  enum { most = 1000 };
  MPI_Win windows[most];
  int made = 0, error = MPI_SUCCESS, class = MPI_SUCCESS, worst;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  while (error == MPI_SUCCESS && made < most) {
    char* base;
    MPI_Aint of_next;
    int unit;
    error = MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &windows[made]);
    MPI_Allreduce(&error, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    wrong += worst != error;
    if (error != MPI_SUCCESS) break;
    memset(base, rank, bytes);
    MPI_Win_fence(0, windows[made]);
    MPI_Win_shared_query(windows[made], (rank + 1) % size, &of_next, &unit, &base);
    wrong += of_next != bytes || base[bytes - 1] != (char)((rank + 1) % size);
    MPI_Win_fence(0, windows[made++]);
  }
  MPI_Error_class(error, &class);
  wrong += class != MPI_ERR_NO_MEM || made == 0;
  while (made > 0) MPI_Win_free(&windows[--made]);
  make_window();
}

/* What needs memory while rank 0's short messages fill the segment, until rank 1 comes to receive
   them: before that, or never. */
static int (*isend)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = MPI_Isend;
static void together(void (*call)(void), int late) {
  MPI_Request* requests = malloc(messages * sizeof *requests);
  char* out = malloc((size_t)messages * bytes + 1);
  if (rank == 0)
    for (int m = 0; m < messages; ++m) {
      fill(out + (size_t)m * bytes, m);
      isend(out + (size_t)m * bytes, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &requests[m]);
    }
  if (rank == 1 && late) {
    usleep(2500000);
    receive_all(1, 3);
  }
  call();
  if (rank == 1 && !late) receive_all(1, 3);
  if (rank == 0) MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  free(out);
  free(requests);
}

/* Each sends to the next, nonblocking, before it receives: both directions between two. */
static void ring(void) {
  char* out = malloc((size_t)messages * bytes + 1);
  MPI_Request* requests = malloc(messages * sizeof *requests);
  for (int m = 0; m < messages; ++m) {
    fill(out + (size_t)m * bytes, m);
    MPI_Isend(out + (size_t)m * bytes, bytes, MPI_BYTE, (rank + 1) % size, 3, MPI_COMM_WORLD,
              &requests[m]);
  }
  receive_all(1, 3);
  MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  free(requests);
  free(out);
}

/* The last one begins when what the others have sent is received: they sleep, and their memory is
 * for it. */
static void in_turn(void) {
  char* out = malloc(bytes + 1);
  const int last = size - 1;
  if (rank == 1) {
    receive_all(size - 2, 3);
    MPI_Send(&last, 1, MPI_INT, last, 4, MPI_COMM_WORLD);
    receive_all(1, 6);
  } else {
    int token = 0;
    if (rank == last) MPI_Recv(&token, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int m = 0; m < messages; ++m) {
      fill(out, m);
      MPI_Send(out, bytes, MPI_BYTE, 1, rank == last ? 6 : 3, MPI_COMM_WORLD);
    }
    if (rank != last) MPI_Recv(&token, 1, MPI_INT, last, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int other = 0; rank == last && other < last; ++other)
      if (other != 1) MPI_Send(&token, 1, MPI_INT, other, 4, MPI_COMM_WORLD);
  }
  free(out);
}

/* With a layout that is not contiguous: larger ones take a pipe. */
static void pieces(void) {
  MPI_Datatype column;
  MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &column);
  MPI_Type_commit(&column);
  char* out = malloc(2 * (size_t)bytes + 1);
  char* packed = malloc(bytes + 1);
  if (rank == 1) {
    usleep(30000);
    receive_all(size - 1, 3);
  } else {
    for (int m = 0; m < messages; ++m) {
      fill(packed, m);
      for (int i = 0; i < bytes; ++i) out[2 * i] = packed[i];
      MPI_Send(out, 1, column, 1, 3, MPI_COMM_WORLD);
    }
  }
  MPI_Type_free(&column);
  free(packed);
  free(out);
}

/* All sends under way at once, their receives posted: each takes a pipe. */
static void window_of_pieces(void) {
  MPI_Datatype column;
  MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &column);
  MPI_Type_commit(&column);
  const size_t room = 2 * (size_t)bytes;
  char* data = calloc(messages, room);
  MPI_Request* requests = malloc(messages * sizeof *requests);
  if (rank == 1) {
    for (int m = 0; m < messages; ++m)
      MPI_Irecv(data + m * room, 1, column, 0, 3, MPI_COMM_WORLD, &requests[m]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int m = 0; m < messages; ++m) {
      for (int i = 0; i < bytes; ++i) data[m * room + 2 * i] = (char)(m * 7 + i);
      MPI_Isend(data + m * room, 1, column, 1, 3, MPI_COMM_WORLD, &requests[m]);
    }
  }
  if (rank < 2) MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  for (int m = 0; rank == 1 && m < messages; ++m) {
    for (int i = 0; i < bytes; ++i) wrong += data[m * room + 2 * i] != (char)(m * 7 + i);
  }
  MPI_Type_free(&column);
  free(requests);
  free(data);
}

/* Many collectives that go by messages at once: what one rank cannot receive yet others wait for.
 */
static void schedules(void) {
  const int count = bytes / (int)sizeof(int);
  int* in = malloc((size_t)messages * bytes);
  int* out = calloc(messages, bytes);
  MPI_Request* requests = malloc(messages * sizeof *requests);
  for (int m = 0; m < messages; ++m) {
    for (int i = 0; i < count; ++i) in[m * count + i] = rank + m + i;
    MPI_Iscan(in + m * count, out + m * count, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
              &requests[m]);
  }
  for (int m = 0; m < messages; ++m) {
    MPI_Wait(&requests[m], MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i)
      wrong += out[m * count + i] != (rank + 1) * (m + i) + rank * (rank + 1) / 2;
  }
  free(requests);
  free(out);
  free(in);
}

/* What came last is received first, so all of it lies unread, while a collective goes on. */
static void last_first(void) {
  char* data = malloc(bytes + 1);
  MPI_Request* requests = malloc(messages * sizeof *requests);
  MPI_Request barrier;
  for (int round = 0; round < 5; ++round) {
    fill(data, round);
    for (int m = 0; rank != 0 && m < messages; ++m)
      isend(data, bytes, MPI_BYTE, 0, m, MPI_COMM_WORLD, &requests[m]);
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    for (int from = 1; rank == 0 && from < size; ++from)
      for (int m = messages - 1; m >= 0; --m) {
        MPI_Recv(data, bytes, MPI_BYTE, from, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(data, round);
      }
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
  }
  free(requests);
  free(data);
}

/* Blocking, every other byte: nobody can fetch them, and the receiver takes the last tag first. */
static void pieces_last_first(void) {
  enum { tags = 8 };
  MPI_Datatype pieces;
  char* data = malloc(2 * bytes + 1);
  MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &pieces);
  MPI_Type_commit(&pieces);
  memset(data, 7, 2 * bytes);
  for (int tag = tags - 1; rank == 0 && tag >= 0; --tag)
    for (int from = 1; from < size; ++from)
      for (int m = 0; m < messages; ++m) {
        memset(data, 0, bytes);
        MPI_Recv(data, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < bytes; ++i) wrong += data[i] != 7;
      }
  for (int m = 0; rank != 0 && m < tags * messages; ++m)
    MPI_Send(data, 1, pieces, 0, m / messages, MPI_COMM_WORLD);
  MPI_Type_free(&pieces);
  free(data);
}

static void buffered(void) {
  int room = messages * (bytes + MPI_BSEND_OVERHEAD);
  char* buffer = malloc(room);
  MPI_Buffer_attach(buffer, room);
  one_way(MPI_Bsend);
  MPI_Buffer_detach(&buffer, &room);
  free(buffer);
}

/* Collectives while so many short messages that nobody reads yet fill the segment. */
static void collectives(int flood, int flood_bytes) {
  char* out = malloc(bytes + 1);
  char* all = malloc((size_t)bytes * size + 1);
  char* others = malloc((size_t)bytes * size + 1);
  char* short_one = calloc(1, flood_bytes);
  if (rank != 1)
    for (int m = 0; m < flood; ++m)
      MPI_Send(short_one, flood_bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
  for (int m = 0; m < messages; ++m) {
    if (rank == m % size) fill(out, m);
    MPI_Bcast(out, bytes, MPI_BYTE, m % size, MPI_COMM_WORLD);
    check(out, m);
    for (int r = 0; r < size; ++r) fill(all + (size_t)r * bytes, 100 * rank + r);
    MPI_Alltoall(all, bytes, MPI_BYTE, others, bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) check(others + (size_t)r * bytes, 100 * r + rank);
    const int root = m % size;
    char* own = others + (size_t)rank * bytes;
    MPI_Scatter(all, bytes, MPI_BYTE, own, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    check(own, 100 * root + rank);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, others, bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < size; ++r) check(others + (size_t)r * bytes, 100 * root + r);
    fill(out, 100 * m + rank);
    MPI_Gather(out, bytes, MPI_BYTE, all, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    for (int r = 0; rank == root && r < size; ++r) check(all + (size_t)r * bytes, 100 * m + r);
    if (rank != 0) memset(out, 0, bytes);
    MPI_Allreduce(out, others, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    check(others, 100 * m);
  }
  if (rank == 1)
    for (int m = 0; m < flood * (size - 1); ++m)
      MPI_Recv(short_one, flood_bytes, MPI_BYTE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  free(short_one);
  free(others);
  free(all);
  free(out);
}

/* Rank 0 sends until its messages do not fit into shared memory any more, a few of those as well,
   and leaves; only then are they received (MESSAGES 1: never; 2: but first one that nobody sends).
   Memory is left for them in small pieces only, no two of them side by side. */
static int leaves(void) {
  enum { pieces = 64, last = 12 };
  char small[100] = {0}, *out = malloc(bytes);
  int sent = 0;
  if (rank == 0) {
    for (int i = 0; i < pieces; ++i)
      MPI_Send(small, sizeof small, MPI_BYTE, 1, i % 2, MPI_COMM_WORLD);
    MPI_Recv(&sent, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int fits = 1; fits; ++sent) {
      MPI_Request request;
      fill(out, sent);
      MPI_Isend(out, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request);
      MPI_Test(&request, &fits, MPI_STATUS_IGNORE);
      if (!fits) MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < last; ++i, ++sent) {
      fill(out, sent);
      MPI_Send(out, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
    }
    memset(out, 1, bytes);
    free(out);
    MPI_Send(&sent, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    return 0;
  }
  for (int i = 0; i < pieces / 2; ++i)
    MPI_Recv(small, sizeof small, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&sent, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
  MPI_Recv(&sent, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  usleep(1000000);
  if (messages == 1) {
    free(out);
    return 0;
  }
  if (messages == 2) MPI_Recv(&sent, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int m = 0; m < sent; ++m) {
    MPI_Recv(out, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(out, m);
  }
  for (int i = 0; i < pieces / 2; ++i)
    MPI_Recv(small, sizeof small, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  free(out);
  printf("wrong: %ld\n", wrong);
  return 0;
}

/* Rank 0 leaves before its messages are read. What it had in use then is all there is for what rank
   1 sends, and rank 2 reads that from the end. */
static int legacy(void) {
  char* out = calloc(1, bytes + 1);
  if (rank == 0)
    for (int m = 0; m < messages; ++m) MPI_Send(out, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
  if (rank == 1) {
    usleep(500000);
    for (int m = 0; m < messages; ++m)
      MPI_Recv(out, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int m = 0; m < messages; ++m) MPI_Send(out, bytes, MPI_BYTE, 2, 3, MPI_COMM_WORLD);
    MPI_Send(out, 0, MPI_BYTE, 2, 4, MPI_COMM_WORLD);
  }
  if (rank == 2) {
    MPI_Recv(out, 0, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int m = 0; m < messages; ++m)
      MPI_Recv(out, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("wrong: %ld\n", wrong);
  }
  free(out);
  return 0;
}

/* Each root gives what has room once only, and keeps it until all have read it; `bytes` to each.
   Before the next one nobody may lack what it has free again, wherever it sleeps by then. */
static void roots(int elsewhere) {
  char* out = calloc(size, bytes);
  char* in = malloc(bytes);
  for (int root = 0; root < size; ++root) {
    fill(out + (size_t)rank * bytes, rank);
    for (int to = 0; rank == root && to < size; ++to) fill(out + (size_t)to * bytes, to);
    MPI_Scatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    check(in, rank);
    const int next = (root + 1) % size;
    if (elsewhere && rank == root)
      MPI_Recv(in, 0, MPI_BYTE, next, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (elsewhere && rank == next) {
      usleep(2000);
      MPI_Send(in, 0, MPI_BYTE, root, 9, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(out);
  free(in);
}

/* Who gives a root something goes on without it, to other communicators' collectives: `fresh` ones,
   or eight in turn. Memory for those who are behind must be left, or they and the roots stay. */
static void ahead(int fresh) {
  enum { kept = 8 };
  MPI_Comm comms[kept];
  unsigned char* out = malloc(bytes);
  unsigned char* in = malloc((size_t)size * bytes);
  for (int i = 0; !fresh && i < kept; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int m = 0; m < messages; ++m) {
    const int root = (m + 5) % size;
    MPI_Comm comm = comms[m % kept];
    if (fresh) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    memset(out, m + rank, bytes);
    if (m % 2 == 0) MPI_Gather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root, comm);
    for (int from = 0; rank == root && m % 2 == 0 && from < size; ++from)
      for (int i = 0; i < bytes; ++i)
        wrong += in[(size_t)from * bytes + i] != (unsigned char)(m + from);
    if (m % 2 == 1) MPI_Reduce(out, in, bytes, MPI_BYTE, MPI_BXOR, root, comm);
    for (int from = 0; rank == root && m % 2 == 1 && from < size; ++from)
      for (int i = 0; i < bytes; ++i) in[i] ^= (unsigned char)(m + from);
    for (int i = 0; rank == root && m % 2 == 1 && i < bytes; ++i) wrong += in[i] != 0;
    if (fresh) MPI_Comm_free(&comm);
  }
  for (int i = 0; !fresh && i < kept; ++i) MPI_Comm_free(&comms[i]);
  free(out);
  free(in);
}

/* Many partitions at a time, of which each is looked at as soon as it is said to be there. */
static void partitions(void) {
  enum { parts = 8 };
  MPI_Request* requests = malloc(2 * messages * sizeof *requests);
  char* out = malloc((size_t)messages * parts * bytes);
  char* in = calloc((size_t)messages * parts, bytes);
  for (int m = 0; m < messages; ++m) {
    const size_t at = (size_t)m * parts * bytes;
    MPI_Precv_init(in + at, parts, bytes, MPI_BYTE, (rank + size - 1) % size, m, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &requests[m]);
    MPI_Psend_init(out + at, parts, bytes, MPI_BYTE, (rank + 1) % size, m, MPI_COMM_WORLD,
                   MPI_INFO_NULL, &requests[messages + m]);
  }
  MPI_Startall(2 * messages, requests);
  for (int p = 0; p < messages * parts; ++p) {
    fill(out + (size_t)p * bytes, p);
    MPI_Pready(p % parts, requests[messages + p / parts]);
  }
  for (int p = 0; p < messages * parts; ++p) {
    for (int here = 0; !here;) MPI_Parrived(requests[p / parts], p % parts, &here);
    check(in + (size_t)p * bytes, p);
  }
  MPI_Waitall(2 * messages, requests, MPI_STATUSES_IGNORE);
  for (int m = 0; m < 2 * messages; ++m) MPI_Request_free(&requests[m]);
  free(requests);
  free(out);
  free(in);
}

/* Each message has its receive, but who has posted it sleeps for something else, or for all. */
static void posted(int late) {
  const int count = rank == 0 ? messages : messages / (size - 1);
  MPI_Request* requests = malloc(messages * sizeof *requests);
  char* data = malloc((size_t)messages * bytes + 1);
  char *piece = calloc(2, bytes), *all = malloc((size_t)size * 2 * bytes);
  for (int m = 0; !late && rank != 0 && m < count; ++m)
    MPI_Irecv(data + (size_t)m * bytes, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[m]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int m = 0; rank == 0 && m < count; ++m) {
    fill(data + (size_t)m * bytes, m / (size - 1));
    MPI_Isend(data + (size_t)m * bytes, bytes, MPI_BYTE, 1 + m % (size - 1), 0, MPI_COMM_WORLD,
              &requests[m]);
  }
  MPI_Gather(piece, 2 * bytes, MPI_BYTE, all, 2 * bytes, MPI_BYTE, size / 2, MPI_COMM_WORLD);
  for (int m = 0; late && rank != 0 && m < count; ++m)
    MPI_Irecv(data + (size_t)m * bytes, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[m]);
  MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int m = 0; rank != 0 && m < count; ++m) check(data + (size_t)m * bytes, m);
  free(all);
  free(piece);
  free(data);
  free(requests);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* what = argv[1];
  messages = atoi(argv[2]);
  bytes = atoi(argv[3]);
  if (!strcmp(what, "leaves")) return leaves() | MPI_Finalize();
  if (!strcmp(what, "legacy")) return legacy() | MPI_Finalize();
  for (int round = 0; round < 2; ++round) {
    if (!strcmp(what, "one-way")) one_way(MPI_Send);
    if (!strcmp(what, "synchronous")) one_way(MPI_Ssend);
    if (!strcmp(what, "broadcast")) together(broadcast, atoi(argv[4]));
    if (!strcmp(what, "broadcast-asking")) together(broadcast_to_who_asks, 0);
    if (!strcmp(what, "synchronous-broadcast")) {
      isend = MPI_Issend;
      together(broadcast, 0);
    }
    if (!strcmp(what, "communicators")) together(make_communicators, 1);
    if (!strcmp(what, "window")) together(make_window, 1);
    if (!strcmp(what, "windows")) windows_until_full();
    if (!strcmp(what, "buffered")) buffered();
    if (!strcmp(what, "ring")) ring();
    if (!strcmp(what, "in-turn")) in_turn();
    if (!strcmp(what, "pieces")) pieces();
    if (!strcmp(what, "schedules")) schedules();
    if (!strcmp(what, "last-first")) last_first();
    if (!strcmp(what, "synchronous-last-first")) {
      isend = MPI_Issend;
      last_first();
    }
    if (!strcmp(what, "pieces-last-first")) pieces_last_first();
    if (!strcmp(what, "window-of-pieces")) window_of_pieces();
    if (!strcmp(what, "roots")) roots(0);
    if (!strcmp(what, "roots-elsewhere")) roots(1);
    if (!strcmp(what, "ahead")) ahead(0);
    if (!strcmp(what, "ahead-and-free")) ahead(1);
    if (!strcmp(what, "partitions")) partitions();
    if (!strcmp(what, "posted")) posted(0);
    if (!strcmp(what, "posted-late")) posted(1);
    if (!strcmp(what, "collectives")) collectives(atoi(argv[4]), atoi(argv[5]));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  long all_wrong = 0;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("wrong: %ld\n", all_wrong);
  MPI_Finalize();
  return 0;
}
