/* What the host's executable and its library share. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of thread-local variables that a program may have (not its libraries: theirs come on top).
   Every thread of the host has so much memory for them. */
#define MEANTIME_PROGRAM_TLS 16384

int meantime_host_main(int count, char** words);

/* Of the executable, so that a debugger knows them from the start; they do nothing. The ranks'
   images are about to be loaded; they are all there. */
void meantime_host_loading(void);
void meantime_host_loaded(void);

#ifdef __cplusplus
}
#endif
