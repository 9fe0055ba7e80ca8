/* The energy framework as the paper on asynchronism in MPI has it (A5): what hooks MPI_Init and
 * MPI_Finalize of a program that knows nothing of it, registers its function there and takes it
 * away again. The function goes by the ranks, the channel, the message's size, the number of
 * busy-waiting iterations, and the current and the last busy-waiting time. At the end it says by
 * which channels the program's messages went. */
#include <meantime.h>
#include <stdio.h>

typedef MPIX_Energy_info MPI_Energy_Info;

static const char* const channels[] = {"none", "shared memory", "direct copy"};
static const MPI_Count small = 8, large = 1 << 20; /* bytes */

struct ways {
  int asked, over; /* channels, as bits */
};
static struct ways of_small, of_large;
static int wrong = 0;

static struct ways* ways_of(const MPI_Energy_Info* info) {
  static struct ways others;
  return info->peer < 0 || info->bytes == 0 ? &others
         : info->bytes <= small             ? &of_small
         : info->bytes >= large             ? &of_large
                                            : &others;
}

static int enter_function(const MPI_Energy_Info* info, void* argument) {
  const double worth_polling = 50e-6;
  (void)argument;
  wrong += info->peer == info->rank || info->bytes < 0 || info->turns <= 0 || info->busy < 0 ||
           info->last_busy < 0;
  ways_of(info)->asked |= 1 << info->channel;
  return info->last_busy < worth_polling && info->busy < worth_polling ? MPIX_ENERGY_POLL
                                                                       : MPIX_ENERGY_SLEEP;
}

static int leave_function(const MPI_Energy_Info* info, void* argument) {
  (void)argument;
  ways_of(info)->over |= 1 << info->channel;
  return 0;
}

int MPI_Init(int* argc, char*** argv) {
  const int result = PMPI_Init(argc, argv);
  MPIX_Energy_handler_reg(enter_function, leave_function, NULL);
  return result;
}

static const char* name(struct ways ways) {
  for (int channel = 1; channel <= 2; ++channel)
    if (ways.asked == 1 << channel && ways.over == ways.asked) return channels[channel];
  return "several";
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPIX_Energy_handler_dereg();
  char text[128];
  int length = snprintf(text, sizeof text, "rank %d: large %s", rank, name(of_large));
  if (of_small.asked != 0)
    length += snprintf(text + length, sizeof text - length, ", small %s", name(of_small));
  if (wrong != 0) snprintf(text + length, sizeof text - length, ", %d times wrong", wrong);
  puts(text);
  return PMPI_Finalize();
}
