/* Thread-local variables of a library in all ways that compilers know to reach them. NAME is
   different in each library that is built of this file. */
#define PASTE(a, b) a##b
#define NAMED(a, b) PASTE(a, b)

_Thread_local long NAMED(shared_, NAME) = 100;
static _Thread_local long own = 200;
static _Thread_local char bytes[40] = "a text that is long enough";
static _Thread_local long zero;
_Thread_local long* NAMED(pointer_, NAME) = 0;
static long global = 5;
static _Thread_local long* volatile at_global = &global;
extern _Thread_local long of_the_program;

long NAMED(add_, NAME)(long value) {
  NAMED(shared_, NAME) += value;
  own += value;
  zero += value;
  bytes[0] = (char)('a' + value);
  *at_global += value;
  return NAMED(shared_, NAME) + own + zero + *at_global + of_the_program;
}
long* NAMED(where_, NAME)(void) {
  return &own;
}
int NAMED(text_, NAME)(long value) {
  return bytes[0] == (char)('a' + value) && bytes[1] == ' ' && bytes[26] == 0;
}
