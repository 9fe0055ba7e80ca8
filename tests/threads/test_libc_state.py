#!/usr/bin/env python3
"""What libc keeps for a process: locale, results in one place, threads of C11, system calls by
syscall(2). The same programs run as processes first, so that what they want is what a process does."""

import os
import re
import shutil
import unittest

from threads_case import ThreadsCase, command


class LibcState(ThreadsCase):
    def both(self, program, *words, ranks=(1, 2, 7), env=None):
        env = env or self.environment
        self.assert_right(self.run_ranks(3, program, *words, kind="processes", env=env))
        for count in ranks:
            self.assert_right(self.run_ranks(count, program, *words, env=env))
        self.assert_right(self.run_ranks(5, program, *words,
                                         env=dict(env, MEANTIME_TEST_ALWAYS_MOVE="1")))

    def locale_with_a_comma(self):
        """de_DE.UTF-8, or None where it cannot be made; and the environment that has it."""
        folder = os.path.join(self.folder, "locale_files")
        os.makedirs(folder, exist_ok=True)
        if shutil.which("localedef"):
            command("localedef", "-i", "de_DE", "-f", "UTF-8", "--no-archive",
                    os.path.join(folder, "de_DE.UTF-8"))
        if not os.path.exists(os.path.join(folder, "de_DE.UTF-8", "LC_NUMERIC")):
            return None, self.environment
        return "de_DE.UTF-8", dict(self.environment, LOCPATH=folder)

    def test_locale(self):
        program = self.build("locales.c", "-pthread", name="locales")
        self.both(program)  # C.UTF-8 is everywhere
        german, environment = self.locale_with_a_comma()
        if german:
            self.both(program, german, env=environment)

    def test_locale_of_cxx(self):
        program = self.build("locales.cpp", name="locales_cxx", compiler="mpicxx")
        self.both(program)
        german, environment = self.locale_with_a_comma()
        if german:
            self.both(program, german, env=environment)

    def test_results_in_one_place(self):
        self.both(self.build("results.c", "-w", name="results"))

    def test_its_own_file_and_keys_of_its_threads(self):
        program = self.build("itself.c", "-pthread", name="itself")
        self.both(program, ranks=(1, 2, 64))
        self.both(self.build("itself.c", "-pthread", "-D_FORTIFY_SOURCE=2", name="itself_fortified"))

    def test_a_new_key_has_no_value_in_any_thread(self):
        """If libc has no more and other threads may have values of those that are deleted, there is none to be had."""
        program = self.build(
            "#include <errno.h>\n#include <mpi.h>\n#include <pthread.h>\n#include <stdio.h>\n"
            "static pthread_key_t key; static pthread_barrier_t turn; static int ends, old;\n"
            "static void* other(void* unused) {\n"
            "  for (pthread_barrier_wait(&turn); !ends; pthread_barrier_wait(&turn)) {\n"
            "    old += pthread_getspecific(key) != NULL; pthread_setspecific(key, &key); pthread_barrier_wait(&turn); }\n"
            "  return unused; }\n"
            "int main(int c, char** v) {\n"
            "  int error = 0; pthread_t thread; MPI_Init(&c, &v);\n"
            "  pthread_barrier_init(&turn, NULL, 2); pthread_create(&thread, NULL, other, NULL);\n"
            "  for (int i = 0; i < 1500 && (error = pthread_key_create(&key, NULL)) == 0; ++i) {\n"
            "    pthread_barrier_wait(&turn); pthread_barrier_wait(&turn); pthread_key_delete(key); }\n"
            "  ends = 1; pthread_barrier_wait(&turn); pthread_join(thread, NULL);\n"
            "  int then = pthread_key_create(&key, NULL); MPI_Finalize();\n"
            "  if (old == 0 && (error == 0 || error == EAGAIN) && then == 0) puts(\" No Errors\");\n"
            "  return 0; }\n", "-pthread", name="new_keys")
        for kind in ("processes", "threads"):
            self.assertEqual(self.run_ranks(2, program, kind=kind).stdout, " No Errors\n" * 2, self.text)

    def test_threads_of_c11_and_ends_of_threads(self):
        program = self.build("c11_threads.c", "-pthread", name="c11_threads")
        self.assert_right(self.run_ranks(3, program, kind="processes"))
        environment = dict(self.environment, MEANTIME_TEST_THREADS="1")
        for ranks in (1, 2, 7):
            result = self.run_ranks(ranks, program, options=("-l",), env=environment)
            self.assertIn("[0]  No Errors\n", result.stdout, self.text)
            self.assertEqual(sorted(re.findall(r"^\[\d+\] thread of \d+$", result.stdout, re.M)),
                             sorted(f"[{rank}] thread of {rank}" for rank in range(ranks) for _ in "12"))

    def test_a_rank_that_ends_by_pthread_exit(self):
        program = self.build("c11_threads.c", "-pthread", name="c11_threads")
        for kind in ("processes", "threads"):
            result = self.run_ranks(4, program, "ends", kind=kind, options=("-l",))
            self.assertEqual(result.returncode, 0, self.text)
            self.assertEqual(sorted(result.stdout.splitlines()),
                             sorted(f"[{rank}] {text} of {rank}" for rank in range(4)
                                    for text in ("last", "handler")), self.text)

    def test_system_calls(self):
        program = self.build("system_calls.c", "-pthread", name="system_calls")
        for kind, ranks, words in (("processes", 3, ()), ("threads", 1, ()), ("threads", 6, ())):
            result = self.run_ranks(ranks, program, *words, kind=kind, options=("-l",))
            self.assertEqual(result.returncode, 0, self.text)
            self.assertIn("[0]  No Errors\n", result.stdout, self.text)
            self.assertEqual(sorted(re.findall(r"\[\d+\] raw \d+", result.stdout)),
                             sorted(f"[{rank}] raw {rank}" for rank in range(ranks)), self.text)
            self.assertEqual(result.stderr, "", self.text)
        result = self.run_ranks(6, program, "fork")
        self.assert_right(result)
        lines = result.stderr.splitlines()  # one for all ranks
        self.assertEqual(len(lines), 1, self.text)
        self.assertRegex(lines[0], r"rank \d made system call 57 by syscall\(\): it belongs to the process")


if __name__ == "__main__":
    unittest.main()
