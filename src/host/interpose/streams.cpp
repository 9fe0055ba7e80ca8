// Standard streams of a rank. libc's functions without a stream argument use libc's one stdout, so
// they have interposed ones in their place.
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "host/process/own_descriptor.h"
#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

FILE* input() {
  return mine() != nullptr ? mine()->standard_input() : stdin;
}
FILE* output() {
  return mine() != nullptr ? mine()->standard_output() : stdout;
}

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

extern "C" {
int __vfprintf_chk(FILE*, int, const char*, va_list);
int __vfwprintf_chk(FILE*, int, const wchar_t*, va_list);
int __vdprintf_chk(int, int, const char*, va_list);
}

// One line a function: each is libc's with the rank's stream.
#define PRINTS(name, flag, text, call) \
  MEANTIME_INTERPOSED int name {       \
    va_list more;                      \
    va_start(more, text);              \
    const int result = call;           \
    va_end(more);                      \
    return result;                     \
  }
PRINTS(printf(const char* text, ...), 0, text, vfprintf(output(), text, more))
PRINTS(__printf_chk(int flag, const char* text, ...), flag, text,
       __vfprintf_chk(output(), flag, text, more))
PRINTS(wprintf(const wchar_t* text, ...), 0, text, vfwprintf(output(), text, more))
PRINTS(__wprintf_chk(int flag, const wchar_t* text, ...), flag, text,
       __vfwprintf_chk(output(), flag, text, more))
// <stdio.h> gives these the names of C99's variants (__isoc99_scanf); older programs want the
// others.
PRINTS(scanf(const char* text, ...), 0, text, vfscanf(input(), text, more))
PRINTS(wscanf(const wchar_t* text, ...), 0, text, vfwscanf(input(), text, more))
MEANTIME_INTERPOSED int old_scanf(const char* text, ...) __asm__("scanf");
PRINTS(old_scanf(const char* text, ...), 0, text, vfscanf(input(), text, more))
PRINTS(dprintf(int descriptor, const char* text, ...), 0, text,
       vdprintf(own_descriptor(descriptor), text, more))
PRINTS(__dprintf_chk(int descriptor, int flag, const char* text, ...), flag, text,
       __vdprintf_chk(own_descriptor(descriptor), flag, text, more))

MEANTIME_INTERPOSED int vprintf(const char* text, va_list more) {
  return vfprintf(output(), text, more);
}
MEANTIME_INTERPOSED int __vprintf_chk(int flag, const char* text, va_list more) {
  return __vfprintf_chk(output(), flag, text, more);
}
MEANTIME_INTERPOSED int vwprintf(const wchar_t* text, va_list more) {
  return vfwprintf(output(), text, more);
}
MEANTIME_INTERPOSED int vscanf(const char* text, va_list more) {
  return vfscanf(input(), text, more);
}
MEANTIME_INTERPOSED int vwscanf(const wchar_t* text, va_list more) {
  return vfwscanf(input(), text, more);
}
MEANTIME_INTERPOSED int puts(const char* text) {
  FILE* const stream = output();
  flockfile(stream);
  const bool written = fputs(text, stream) >= 0 && putc_unlocked('\n', stream) >= 0;
  funlockfile(stream);
  return written ? 1 : EOF;
}
MEANTIME_INTERPOSED int putchar(int character) {
  return putc(character, output());
}
MEANTIME_INTERPOSED int putchar_unlocked(int character) {
  return putc_unlocked(character, output());
}
MEANTIME_INTERPOSED wint_t putwchar(wchar_t character) {
  return putwc(character, output());
}
MEANTIME_INTERPOSED int getchar() {
  return getc(input());
}
MEANTIME_INTERPOSED int getchar_unlocked() {
  return getc_unlocked(input());
}
MEANTIME_INTERPOSED wint_t putwchar_unlocked(wchar_t character) {
  return putwc_unlocked(character, output());
}
MEANTIME_INTERPOSED wint_t getwchar_unlocked() {
  return getwc_unlocked(input());
}
MEANTIME_INTERPOSED wint_t getwchar() {
  return getwc(input());
}
