/* A program that wants to wait in another way than the site has locked: by MPIX_Setting_set, MPI_T
 * and an info, and by an energy handler; all but MPI_T's with the error handler that ends it.
 * Prints how it waits afterwards. With an argument: another number of looks. */
#include <meantime.h>
#include <stdio.h>

static int powersave(const MPIX_Energy_info* info, void* argument) {
  (void)info, (void)argument;
  return MPIX_ENERGY_DEFAULT;
}

int main(int argc, char** argv) {
  char text[32] = "", value[32] = "none";
  int length = sizeof text, found = 0, provided, index, count = 0, refused = 0;
  const char* name = argc > 1 ? "MEANTIME_TRIES_POLL" : "MEANTIME_WAIT";
  const char* key = argc > 1 ? "meantime_tries_poll" : "meantime_wait";
  const char* other = argc > 1 ? "7" : "poll";
  MPI_Info info;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPIX_Setting_set(name, other);
  MPIX_Setting_set(name, other);                   /* not told twice */
  MPIX_Setting_set(name, argc > 1 ? "" : "event"); /* as it is */
  if (argc == 1) MPIX_Setting_set(name, other);

  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS) {
    MPI_T_cvar_handle handle;
    const unsigned long long number = 7;
    const int poll = 1;
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    refused = MPI_T_cvar_write(handle, argc > 1 ? (const void*)&number : &poll) != MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();

  MPIX_Energy_handler_reg(powersave, NULL, NULL);
  MPIX_Energy_handler_reg(powersave, NULL, NULL); /* not told twice */

  MPI_Info_create(&info);
  MPI_Info_set(info, key, other);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Info_free(&info);
  MPI_Comm_get_info(comm, &info);
  length = sizeof value;
  MPI_Info_get_string(info, key, &length, value, &found);
  MPI_Info_free(&info);
  MPI_Comm_free(&comm);
  length = sizeof text;
  MPIX_Setting_get(name, &length, text);
  printf("%s refused %d communicator %s\n", text, refused, found ? value : "none");
  MPI_Finalize();
  return 0;
}
