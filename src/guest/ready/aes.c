// aes: encrypts one block of 128 bits with OpenSSL's AES, again and again: the extra work of the
// paper on TIMELORD. A unit is a block. The library is found when it runs (Debian: libssl3).
#include <dlfcn.h>
#include <string.h>

#include "units.h"

enum { blocks_at_once = 32 };

typedef int (*set_key)(const unsigned char* key, int bits, void* schedule);
typedef void (*encrypt)(const unsigned char* in, unsigned char* out, const void* schedule);

static encrypt encrypt_block;
// More than OpenSSL's AES_KEY, whose header may not be there.
static _Alignas(64) unsigned char schedule[1024];
static unsigned char block[16] = "an idle core is ";

static int prepare(void) {
  static const char* const names[] = {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"};
  void* library = NULL;
  for (unsigned i = 0; library == NULL && i < sizeof names / sizeof *names; ++i) {
    library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
  }
  if (library == NULL) {
    fprintf(stderr, "aes: no libcrypto.so.3 (Debian: apt install libssl3)\n");
    return 1;
  }
  set_key set_encrypt_key;
  *(void**)&set_encrypt_key = dlsym(library, "AES_set_encrypt_key");
  *(void**)&encrypt_block = dlsym(library, "AES_encrypt");
  if (set_encrypt_key == NULL || encrypt_block == NULL) {
    fprintf(stderr, "aes: this libcrypto has no AES_encrypt\n");
    return 1;
  }
  const unsigned char key[16] = "a core well used";
  set_encrypt_key(key, 128, schedule);
  return 0;
}

static uint64_t work(void) {
  for (int i = 0; i < blocks_at_once; ++i) {
    encrypt_block(block, block, schedule);
  }
  return blocks_at_once;
}
