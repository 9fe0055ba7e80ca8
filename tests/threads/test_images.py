#!/usr/bin/env python3
"""A rank's image of its program is what a process of its own would have: which definition of a name
is taken, variables of libc, thread-local variables, executable stacks; and what it costs."""

import os
import shutil
import unittest

from threads_case import BUILD, HERE, ThreadsCase, command


class Images(ThreadsCase):
    def test_names_are_found_in_the_order_of_a_process(self):
        self.build_library("names_second.c", "-O2", "-fno-builtin", name="second")
        self.build_library("names_first.c", "-fno-builtin", *self.with_libraries("second"), name="first")
        program = self.build("names.c", "-fno-builtin", *self.with_libraries("first", "second"), "-lm",
                             name="names")
        self.assert_right(self.run_ranks(3, program, kind="processes"))
        for ranks in (1, 2, 17):
            self.assert_right(self.run_ranks(ranks, program))

    def test_variables_of_libc(self):
        # As most programs refer to them (copied to the program), and as its libraries do.
        for flags in ((), ("-fPIC", "-mno-direct-extern-access"), ("-fPIC",)):
            name = "libc_data" + str(len(flags))
            source = os.path.join(self.folder, name)
            if command("cc", "-x", "c", "-c", *flags, "-o", source + ".o", os.devnull).returncode != 0:
                continue  # another version of GCC
            program = self.build("libc_data.c", *flags, "-lm", "-pthread", name=name)
            self.assert_right(self.run_ranks(2, program, kind="processes"))
            for ranks in (1, 2, 13):
                self.assert_right(self.run_ranks(ranks, program))

    def test_functions_that_are_chosen_at_the_start(self):
        self.build_library("chosen_library.c", name="chosen")
        for flags in ((), ("-Wl,-z,now",), ("-Wl,-z,lazy",), ("-s",)):
            program = self.build("chosen.c", *flags, *self.with_libraries("chosen"),
                                 name="chosen" + "".join(flags).replace(",", "_"))
            self.assert_right(self.run_ranks(2, program, kind="processes"))
            for ranks in (1, 9):
                self.assert_right(self.run_ranks(ranks, program))

    def test_errors_of_the_linker_are_each_thread_s(self):
        """The run-time linker has functions for that by libc's names, which are for one thread: libc
        must be found before it. (getpwnam looks for names in vain.)"""
        for host in ("meantime-host", "meantime-host-medium", "meantime-host-large"):
            listed = command("env", "LD_TRACE_LOADED_OBJECTS=1",
                             os.path.join(BUILD, "libexec/meantime", host)).stdout
            names = [os.path.basename(line.split()[0]) for line in listed.splitlines()]
            self.assertLess(names.index("libc.so.6"), names.index("ld-linux-x86-64.so.2"), listed)

    def thread_local(self, *flags, name):
        models = {"plain": ("-ftls-model=global-dynamic",), "initial": ("-ftls-model=initial-exec",),
                  "descriptor": ("-mtls-dialect=gnu2",)}
        for library, model in models.items():
            self.build_library("thread_local_library.c", f"-DNAME={library}", *model, name=library)
        return self.build("thread_local.c", *flags, *self.with_libraries(*models), "-pthread", name=name)

    def test_thread_local_variables(self):
        program = self.thread_local("-DALIGNMENT=16", name="small")
        self.assert_right(self.run_ranks(2, program, kind="processes"))
        for ranks in (1, 3, 150):
            self.assert_right(self.run_ranks(ranks, program))
        # Of each size and alignment that takes another host.
        for room, alignment in ((3000, 64), (20000, 64), (100, 256), (900000, 4096)):
            program = self.thread_local(f"-DROOM={room}", f"-DALIGNMENT={alignment}", name=f"room{room}")
            self.assert_right(self.run_ranks(5, program))
        program = self.thread_local("-DROOM=1100000", "-DALIGNMENT=4096", name="too_many")
        result = self.run_ranks(2, program)
        self.assertEqual(result.returncode, 1, self.text)
        self.assertRegex(result.stderr, r"bytes of thread-local variables, 1048576 are the most")

    def test_many_ranks_of_programs_with_thread_local_variables_in_the_run_time(self):
        """libstdc++ (std::call_once) and libgomp have theirs where little can be added later."""
        path = os.path.join(self.folder, "once.cpp")
        with open(path, "w") as file:
            file.write("""
#include <mpi.h>
#include <cstdio>
#include <mutex>
#include <thread>
std::once_flag flag;
int calls = 0;
int main(int c, char** v) {
  MPI_Init(&c, &v);
  for (int i = 0; i < 3; ++i) std::call_once(flag, [] { ++calls; });
  std::thread([] { std::call_once(flag, [] { ++calls; }); }).join();
  int rank, sum, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&calls, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && sum == size) std::printf(" No Errors\\n");
  MPI_Finalize();
}
""")
        once = self.build(path, "-pthread", name="once", compiler="mpicxx")
        openmp = self.build("""
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
int main(int c, char** v) {
  int rank, size, sum = 0, all = 0;
  MPI_Init(&c, &v);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
#pragma omp parallel num_threads(2) reduction(+ : sum)
  sum += omp_get_thread_num() + 1;
  MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 3 * size) printf(" No Errors\\n");
  MPI_Finalize();
  return 0;
}
""", "-fopenmp", name="many_openmp")
        for program in (once, openmp):
            self.assert_right(self.run_ranks(100, program))

    def load_and_unload(self, program, images):
        result = command(os.path.join(BUILD, "libexec/meantime/meantime-host"), "--trial", program, images,
                         env=self.environment, timeout=200)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        early, late = ([int(word) for word in line.split()] for line in result.stdout.splitlines())
        self.assertEqual(early[:2], late[:2], "maps, descriptors")
        self.assertLess(late[2] - early[2], 1024, "KiB")  # one page an image were 4 for each

    def test_images_are_unloaded_without_leak(self):
        self.load_and_unload(self.build("private_c.c", *self.with_private_library(), name="unloads"), 10000)
        self.load_and_unload(self.build("private_cxx.cpp", "-std=c++17", "-pthread", name="unloads_cxx",
                                        compiler="mpicxx"), 1000)
        self.load_and_unload(self.build_fortran(os.path.join(HERE, "private_fortran.f90"),
                                                name="unloads_fortran"), 1000)

    def with_private_library(self):
        self.build_library("private_library.c", name="private")
        return [*self.with_libraries("private"), "-lm", "-pthread"]

    def test_functions_inside_functions(self):
        """Their addresses are code on the stack."""
        program = self.build("""
#include <mpi.h>
#include <stdio.h>
__attribute__((noinline)) static int call(int (*function)(int)) { return function(1); }
int main(int c, char** v) {
  int rank;
  MPI_Init(&c, &v);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int add(int value) { return value + rank; }
  int right = call(add) == rank + 1, all;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all) printf(" No Errors\\n");
  MPI_Finalize();
  return 0;
}
""", name="nested")
        self.assert_right(self.run_ranks(4, program))

    def test_large_tables(self):
        """Data without addresses are not copied before somebody writes to them."""
        program = self.build("""
#include <mpi.h>
#include <stdio.h>
#include <string.h>
int table[5 << 20] = {1, 2, 3};
int* inside = &table[3];
static int zero[1 << 18];
static char text[1 << 20] = "text";
static long memory_kib(void) {
  char line[200];
  long kib = -1;
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && fgets(line, sizeof line, file) && sscanf(line, "Private_Dirty: %ld", &kib) < 1)
    ;
  if (file != NULL) fclose(file);
  return kib;
}
int main(int c, char** v) {
  const int last = sizeof table / sizeof table[0] - 1;
  int rank, wrong;
  MPI_Init(&c, &v);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  wrong = table[0] != 1 || table[2] != 3 || table[last] || inside != &table[3] || zero[99] ||
          strcmp(text, "text") != 0;
  table[1000000] = table[last] = zero[5] = rank;
  text[sizeof text - 1] = (char)rank;
  MPI_Barrier(MPI_COMM_WORLD);
  wrong |= table[1000000] != rank || table[last] != rank || zero[5] != rank || inside[-1] != 3 ||
           text[sizeof text - 1] != (char)rank;
  if (memory_kib() > 400000) wrong |= 2; /* 2.6 GB if each had all */
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
  if (rank == 0 && !wrong) printf(" No Errors\\n");
  MPI_Finalize();
  return wrong;
}
""", name="tables")
        self.assert_right(self.run_ranks(120, program))

    def maps_of_a_rank(self, program):
        def maps(ranks):
            result = self.run_ranks(ranks, program)
            self.assertEqual(result.returncode, 0, self.text)
            return int(result.stdout.split()[0])

        return (maps(50) - maps(10)) / 40

    def test_memory_of_a_rank(self):
        """Of an empty program: it does not grow with the number of the others, nor much with those that it sends to."""
        program = self.build("""
#include <mpi.h>
#include <stdio.h>
int main(int c, char** v) {
  int rank, ranks, value = 0;
  MPI_Init(&c, &v);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 1; i < ranks && c > 1; i++)
    MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + i) % ranks, 0, (rank + ranks - i) % ranks, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    char line[200];
    long kib = -1;
    FILE* file = fopen("/proc/self/smaps_rollup", "r");
    while (file != NULL && fgets(line, sizeof line, file) && sscanf(line, "Pss: %ld", &kib) < 1)
      ;
    printf("%ld\\n", kib);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
""", name="memory")

        def kib(ranks, *words):
            result = self.run_ranks(ranks, program, *words)
            self.assertEqual(result.returncode, 0, self.text)
            return int(result.stdout)

        self.assertLess((kib(1000) - kib(100)) / 900, 55)
        self.assertLess(kib(300, "all"), 60000)

    def test_maps_of_a_rank(self):
        count = """
#include <stdio.h>
#include <stdlib.h>
int count_maps(void) {
  int lines = 0, character;
  FILE* maps = fopen("/proc/self/maps", "r");
  while ((character = getc(maps)) != EOF) lines += character == '\\n';
  fclose(maps);
  return lines;
}
"""
        program = self.build(count + """
#include <mpi.h>
int main(int c, char** v) {
  int rank;
  free(malloc(1000));
  MPI_Init(&c, &v);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%d\\n", count_maps());
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
""", name="maps_c")
        self.assertLessEqual(self.maps_of_a_rank(program), 8, self.text)
        if shutil.which("gfortran") is None:
            return
        self.build_library(count, name="count")
        path = os.path.join(self.folder, "maps.f90")
        with open(path, "w") as file:
            file.write("""
program maps
  use iso_c_binding
  interface
    integer(c_int) function MPI_Init(a, b) bind(C, name="MPI_Init")
      import
      type(c_ptr), value :: a, b
    end function
    integer(c_int) function MPI_Comm_rank(comm, rank) bind(C, name="MPI_Comm_rank")
      import
      integer(c_intptr_t), value :: comm
      integer(c_int) :: rank
    end function
    integer(c_int) function MPI_Barrier(comm) bind(C, name="MPI_Barrier")
      import
      integer(c_intptr_t), value :: comm
    end function
    integer(c_int) function MPI_Finalize() bind(C, name="MPI_Finalize")
      import
    end function
    integer(c_int) function count_maps() bind(C)
      import
    end function
  end interface
  integer(c_int) :: error, rank
  character(20) :: text
  error = MPI_Init(c_null_ptr, c_null_ptr)
  error = MPI_Comm_rank(257_c_intptr_t, rank)
  write (text, *) rank
  error = MPI_Barrier(257_c_intptr_t)
  if (rank == 0) print *, count_maps()
  error = MPI_Barrier(257_c_intptr_t)
  error = MPI_Finalize()
end program
""")
        # With the library that counts.
        program = self.build_fortran(path, *self.with_libraries("count"), name="maps_fortran")
        self.assertLessEqual(self.maps_of_a_rank(program), 12 + 2, self.text)


if __name__ == "__main__":
    unittest.main()
