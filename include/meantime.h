/* Meantime's own additions to MPI, for C and C++. Everything the standard knows is in mpi.h.
 * Names begin with MPIX_ (calls) or MEANTIME_ (constants). A program that wants to build with
 * other MPIs too tests for MEANTIME_VERSION_MAJOR. */
#ifndef MEANTIME_H
#define MEANTIME_H

#include <mpi.h>

/* The one place that knows the version: CMakeLists.txt reads these three lines. */
#define MEANTIME_VERSION_MAJOR 0
#define MEANTIME_VERSION_MINOR 1
#define MEANTIME_VERSION_PATCH 0

#endif
