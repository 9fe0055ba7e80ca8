// dlsym, dlvsym and syscall of a rank's program, and the function that finds a thread-local
// variable. The words of a copy that would lead to libc's lead here (Image).
#pragma once

extern "C" {

void* find_for_rank(void* handle, const char* name);
void* find_with_version_for_rank(void* handle, const char* name, const char* version);

/// Ours (libmpi_abi's and the host's) go to libc's; its answer is libc's: -1 and errno.
long system_call_of_rank(long number, ...);

/// What a TLS descriptor calls, by a convention of its own: the descriptor is in rax, and so is the
/// result, the variable's distance from the thread pointer; nothing else changes.
void meantime_thread_descriptor();
}
