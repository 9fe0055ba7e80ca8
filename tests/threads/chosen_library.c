/* The library of chosen.c. */
static int base = 10;

__attribute__((target_clones("default", "avx2"))) int library_sum(const int* values, int count) {
  int result = 0;
  for (int i = 0; i < count; i++) result += values[i];
  return result;
}

static int right_one(void) {
  return 2 + base;
}
static int (*choose(void))(void) {
  return right_one;
}
int library_chosen(void) __attribute__((ifunc("choose")));
