/* A shared library of the program: its data are each rank's own. */
int library_counter = 0;
int library_table[4] = {1, 2, 3, 40};
_Thread_local int library_thread_counter = 5;

int bump_library(void) {
  return ++library_counter;
}
int bump_library_thread(void) {
  return ++library_thread_counter;
}
int sum_of_table(void) {
  return library_table[0] + library_table[1] + library_table[2] + library_table[3];
}
