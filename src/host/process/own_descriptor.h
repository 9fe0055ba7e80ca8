// Descriptors as the calling rank knows them (descriptors.h): what calls of libc that take, make or
// name one go through. Outside of a rank a number is its place.
#pragma once

#include <vector>

#include "host/process/descriptors.h"

namespace meantime::host {

/// At the start of the host, before it opens anything: `of_meantime` are no rank's business. 0, or
/// the errno of what it lacks.
int note_inherited_descriptors(const std::vector<int>& of_meantime);

int own_descriptor(int number);
/// The result of a call that makes a descriptor: number for place. errno stays what it is.
int own_new(int place);
int own_number(int place);
/// libc closes this one itself.
void forget_own(int number);
/// A place that is no rank's to know, though one caused it; nothing if it is negative.
void keep_for_host(int place);
void close_for_host(int place);
/// The path that the rank means: "/dev/stdout" and its like are the rank's.
const char* own_path(const char* path, char (&room)[32]);
/// The program's where the path is "/proc/self/exe" or the like, which is the host's; else the
/// path.
const char* own_program(const char* path);

/// Around a call that makes a descriptor, until it has been taken: what is nobody's meanwhile may
/// be somebody's soon.
class Making {
 public:
  Making();
  ~Making();
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;
};

}  // namespace meantime::host
