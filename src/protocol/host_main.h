/* What the host's executable and its library share. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of thread-local variables that a program and its libraries may have. Every thread of the
   host has memory for as many as its executable was built for; there are three of them, because
   that memory is touched at the start of a thread. */
#define MEANTIME_LEAST_PROGRAM_TLS 2048
#define MEANTIME_MOST_PROGRAM_TLS (1 << 20)

/* With the executable's block of thread-local memory. */
int meantime_host_main(int count, char** words, char* block, unsigned long bytes);

/* Of the executable, so that a debugger knows them from the start; they do nothing. The ranks'
   images are about to be loaded; they are all there. */
void meantime_host_loading(void);
void meantime_host_loaded(void);

#ifdef __cplusplus
}
#endif
