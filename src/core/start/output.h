// What a rank has printed is seen at once, and stays if the job is ended: into a pipe or a file,
// too, a line goes out when it is complete. (libc and Python fill a block of kilobytes first, and
// what is in it is lost when a rank is killed because another one failed. Whole lines do not mix
// with other ranks', either.)
#pragma once

namespace meantime::core {

/// Of this process's standard output, in MPI_Init under mpiexec. What the program or stdbuf(1) has
/// chosen for it stays. Thread ranks' streams: src/host/process/beginning.cpp.
void print_whole_lines();

}  // namespace meantime::core
