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

#ifdef __cplusplus
extern "C" {
#endif

/* Each call is weak and has a macro in front of it: a program that was built with this header
 * starts on another library of the standard ABI too, and the macro does there what can be done
 * without us. */

/* Lets others run, for once: the other thread ranks of this worker, or any process that wants this
 * core. Legal at any time; any thread. Returns MPI_SUCCESS. Without Meantime it does nothing. */
extern int MPIX_Yield(void) __attribute__((weak));
#define MPIX_Yield() (MPIX_Yield != 0 ? MPIX_Yield() : MPI_SUCCESS)

#ifdef __cplusplus
}
#endif

#endif
