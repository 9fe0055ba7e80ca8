/* Rank 1 sleeps in the kernel, in the call that the first word names, until the others have had
   their turns: if it held them up, nobody would ever wake it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern char** environ;
static const char* way;
static int is(const char* word) {
  return strcmp(way, word) == 0;
}
static int pipe_end = -1, lock_file = -1, listener = -1;
static struct {
  sem_t semaphore;
  pthread_mutex_t mutex;
  pthread_rwlock_t rwlock;
  int word, semaphores, messages;
} * shared;
static int busy = -1; /* a listener whose queue of one is full */

static void prepare(int rank) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
  if (rank == 0) {
    mkfifo("fifo", 0600);
    close(open("lock", O_CREAT | O_RDWR, 0600));
    const int file = open("shared", O_CREAT | O_RDWR, 0600);
    if (ftruncate(file, sizeof *shared) != 0) abort();
    close(file);
  } else {
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr*)&address, sizeof address) != 0) abort();
    listen(listener, 5);
  }
}

static void begin(int rank) {
  pipe_end = open("fifo", O_RDWR);
  lock_file = open("lock", O_RDWR);
  const int file = open("shared", O_RDWR);
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (rank == 0) {
    struct flock whole = {.l_type = F_WRLCK};
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &attributes);
    pthread_mutex_lock(&shared->mutex);
    sem_init(&shared->semaphore, 1, 0);
    pthread_rwlockattr_t of_rwlock;
    pthread_rwlockattr_init(&of_rwlock);
    pthread_rwlockattr_setpshared(&of_rwlock, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&shared->rwlock, &of_rwlock);
    pthread_rwlock_wrlock(&shared->rwlock);
    shared->word = 0;
    if (is("semop")) shared->semaphores = semget(IPC_PRIVATE, 1, 0600);
    if (is("msgrcv")) shared->messages = msgget(IPC_PRIVATE, 0600);
    if (is("connect")) {
      struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "busy"};
      busy = socket(AF_UNIX, SOCK_STREAM, 0);
      if (bind(busy, (struct sockaddr*)&address, sizeof address) != 0) abort();
      listen(busy, 0);
    }
    if (is("flock")) flock(lock_file, LOCK_EX);
    if (is("fcntl")) fcntl(lock_file, F_SETLK, &whole);
  }
}

static void* reader(void* argument) {
  char byte;
  if (read(pipe_end, &byte, 1) != 1) abort();
  return argument;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static mtx_t mutex_of_c11;
static cnd_t condition_of_c11;
static int seen;

static void* teller(void* argument) {
  reader(NULL);
  pthread_mutex_lock(&mutex);
  mtx_lock(&mutex_of_c11);
  seen = 1;
  pthread_cond_signal(&condition);
  cnd_signal(&condition_of_c11);
  mtx_unlock(&mutex_of_c11);
  pthread_mutex_unlock(&mutex);
  return argument;
}
static int reader_of_c11(void* argument) {
  reader(argument);
  return 5;
}

static void connect_to_the_busy_one(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "busy"};
  int lines[20], count = 0, full = 0;
  while (!full && count < 20) {
    lines[count] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    full = connect(lines[count++], (struct sockaddr*)&address, sizeof address) != 0;
  }
  const int line = socket(AF_UNIX, SOCK_STREAM, 0);
  if (connect(line, (struct sockaddr*)&address, sizeof address) != 0) abort();
  close(line);
  while (count > 0) close(lines[--count]);
}

/* Until there is something in the pipe, if it waits for that. */
static void sleep_in_it(void) {
  char byte;
  struct pollfd look = {pipe_end, POLLIN, 0};
  struct timespec ms = {0, 1000000};
  struct flock whole = {.l_type = F_WRLCK};
  fd_set set;
  FD_ZERO(&set);
  FD_SET(pipe_end, &set);
  if (is("read")) {
    reader(NULL);
  } else if (is("poll")) {
    if (poll(&look, 1, -1) != 1) abort();
  } else if (is("ppoll")) {
    if (ppoll(&look, 1, NULL, NULL) != 1) abort();
  } else if (is("select")) {
    if (select(pipe_end + 1, &set, NULL, NULL, NULL) != 1) abort();
  } else if (is("pselect")) {
    if (pselect(pipe_end + 1, &set, NULL, NULL, NULL, NULL) != 1) abort();
  } else if (is("epoll_wait")) {
    const int events = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(events, EPOLL_CTL_ADD, pipe_end, &event);
    if (epoll_wait(events, &event, 1, -1) != 1) abort();
  } else if (is("stdio")) {
    FILE* const stream = fdopen(pipe_end, "r");
    if (fgetc(stream) == EOF) abort();
  } else if (is("nanosleep") || is("clock_nanosleep") || is("usleep") || is("sleep")) {
    while (poll(&look, 1, 0) == 0) {
      if (is("nanosleep")) nanosleep(&ms, NULL);
      if (is("clock_nanosleep")) clock_nanosleep(CLOCK_MONOTONIC, 0, &ms, NULL);
      if (is("usleep")) usleep(1000);
      if (is("sleep")) sleep(1);
    }
  } else if (is("system")) {
    if (system("head -c 1 fifo >/dev/null") != 0) abort();
  } else if (is("pclose")) {
    if (pclose(popen("head -c 1 fifo >/dev/null", "w")) != 0) abort();
  } else if (is("waitpid") || is("wait") || is("waitid")) {
    char* words[] = {"sh", "-c", "head -c 1 fifo >/dev/null", NULL};
    pid_t pid;
    int status = 0;
    siginfo_t info;
    if (posix_spawn(&pid, "/bin/sh", NULL, NULL, words, environ) != 0) abort();
    if (is("waitpid") && waitpid(pid, &status, 0) != pid) abort();
    if (is("wait") && wait(&status) != pid) abort();
    if (is("waitid") && waitid(P_PID, (id_t)pid, &info, WEXITED) != 0) abort();
    if (status != 0) abort();
  } else if (is("pthread_join")) {
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    pthread_join(thread, NULL);
  } else if (is("flock")) {
    if (flock(lock_file, LOCK_EX) != 0) abort();
  } else if (is("fcntl")) {
    if (fcntl(lock_file, F_SETLKW, &whole) != 0) abort();
  } else if (is("accept") || is("recv")) {
    const int line = accept(listener, NULL, NULL);
    if (line < 0 || recv(line, &byte, 1, 0) != 1) abort();
  } else if (is("sem_wait")) {
    if (sem_wait(&shared->semaphore) != 0) abort();
  } else if (is("mutex")) {
    pthread_mutex_lock(&shared->mutex);
    pthread_mutex_unlock(&shared->mutex);
  } else if (is("rwlock")) {
    pthread_rwlock_rdlock(&shared->rwlock);
    pthread_rwlock_unlock(&shared->rwlock);
  } else if (is("pthread_cond_wait") || is("cnd_wait")) {
    pthread_t thread;
    mtx_init(&mutex_of_c11, mtx_plain);
    cnd_init(&condition_of_c11);
    seen = 0;
    pthread_create(&thread, NULL, teller, NULL);
    if (is("cnd_wait")) {
      mtx_lock(&mutex_of_c11);
      while (!seen) cnd_wait(&condition_of_c11, &mutex_of_c11);
      mtx_unlock(&mutex_of_c11);
    } else {
      pthread_mutex_lock(&mutex);
      while (!seen) pthread_cond_wait(&condition, &mutex);
      pthread_mutex_unlock(&mutex);
    }
    pthread_join(thread, NULL);
  } else if (is("thrd_join")) {
    thrd_t thread;
    int result = 0;
    thrd_create(&thread, reader_of_c11, NULL);
    thrd_join(thread, &result);
    if (result != 5) abort();
  } else if (is("connect")) {
    connect_to_the_busy_one();
  } else if (is("futex")) {
    while (__atomic_load_n(&shared->word, __ATOMIC_SEQ_CST) == 0)
      syscall(SYS_futex, &shared->word, FUTEX_WAIT, 0, NULL, NULL, 0);
  } else if (is("semop")) {
    struct sembuf down = {0, -1, 0};
    if (semop(shared->semaphores, &down, 1) != 0) abort();
    semctl(shared->semaphores, 0, IPC_RMID);
  } else if (is("msgrcv")) {
    struct {
      long type;
      char text[8];
    } message;
    if (msgrcv(shared->messages, &message, sizeof message.text, 0, 0) != 8) abort();
    msgctl(shared->messages, IPC_RMID, NULL);
  } else {
    abort();
  }
}

static void wake_it(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
  struct flock none = {.l_type = F_UNLCK};
  if (is("flock")) flock(lock_file, LOCK_UN);
  if (is("fcntl")) fcntl(lock_file, F_SETLK, &none);
  if (is("accept") || is("recv")) {
    const int line = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(line, (struct sockaddr*)&address, sizeof address) != 0) abort();
    if (send(line, "x", 1, 0) != 1) abort();
    close(line);
  } else if (write(pipe_end, "x", 1) != 1) {
    abort();
  }
  if (is("semop")) {
    struct sembuf up = {0, 1, 0};
    if (semop(shared->semaphores, &up, 1) != 0) abort();
  }
  if (is("msgrcv")) {
    struct {
      long type;
      char text[8];
    } message = {1, "message"};
    if (msgsnd(shared->messages, &message, sizeof message.text, 0) != 0) abort();
  }
  if (is("connect")) {
    /* As many as came before it, and then it. */
    for (int i = 0; i < 2; i++) close(accept(busy, NULL, NULL));
    close(busy);
    unlink("busy");
  }
  __atomic_store_n(&shared->word, 1, __ATOMIC_SEQ_CST);
  syscall(SYS_futex, &shared->word, FUTEX_WAKE, 9, NULL, NULL, 0);
  sem_post(&shared->semaphore);
  pthread_mutex_unlock(&shared->mutex);
  pthread_rwlock_unlock(&shared->rwlock);
}

int main(int count, char** words) {
  int rank, size, value = 7;
  MPI_Comm awake;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 1, rank, &awake);
  MPI_Comm_size(awake, &size);
  if (rank < 2) prepare(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; i < count; i++) {
    way = words[i];
    if (rank == 0) begin(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) begin(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      sleep_in_it();
      char byte;
      fcntl(pipe_end, F_SETFL, O_NONBLOCK);
      while (read(pipe_end, &byte, 1) == 1) {
      }
    } else {
      for (int turn = 0; turn < 20; turn++)
        MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, awake);
      if (rank == 0) wake_it();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank < 2) {
      close(pipe_end);
      close(lock_file);
    }
  }
  MPI_Comm_free(&awake);
  MPI_Finalize();
  if (rank == 0) printf(" No Errors\n");
  return 0;
}
