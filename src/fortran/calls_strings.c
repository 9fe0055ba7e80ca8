// Strings whose length the caller says, and lists of strings.
#include <stdlib.h>
#include <string.h>

#include "fortran.h"

static size_t smaller(size_t a, size_t b) {
  return a < b ? a : b;
}

// `valuelen` counts no closing zero in Fortran; nor does it in C's MPI_Info_get.
BINDING void FORTRAN(info_get)(MPI_Fint* info, char* key, MPI_Fint* valuelen, char* value,
                               MPI_Fint* flag, MPI_Fint* ierror, size_t key_length,
                               size_t value_length) {
  char* c_key = meantime_stripped(key, key_length);
  const size_t room = *valuelen < 0 ? 0 : smaller((size_t)*valuelen, value_length);
  char* c_value = meantime_allocate(room + 1);
  int c_flag = 0;
  const int error = MPI_CALL(Info_get)(meantime_to_Info(*info), c_key,
                                       *valuelen < 0 ? *valuelen : (int)room, c_value, &c_flag);
  if (error == MPI_SUCCESS) {
    if (c_flag) meantime_fill(value, value_length, c_value);
    *flag = meantime_logical(c_flag);
  }
  free(c_key);
  free(c_value);
  meantime_store(ierror, error);
}
SAME_IN_F08(info_get)

// In C `buflen` counts the closing zero, in Fortran it does not (MPI 5.0, 10.4).
BINDING void FORTRAN(info_get_string)(MPI_Fint* info, char* key, MPI_Fint* buflen, char* value,
                                      MPI_Fint* flag, MPI_Fint* ierror, size_t key_length,
                                      size_t value_length) {
  char* c_key = meantime_stripped(key, key_length);
  const size_t room = *buflen <= 0 ? 0 : smaller((size_t)*buflen, value_length);
  char* c_value = meantime_allocate(room + 1);
  int c_length = room == 0 ? (*buflen < 0 ? *buflen : 0) : (int)room + 1;
  int c_flag = 0;
  c_value[0] = '\0';
  const int error =
      MPI_CALL(Info_get_string)(meantime_to_Info(*info), c_key, &c_length, c_value, &c_flag);
  if (error == MPI_SUCCESS) {
    if (c_flag) {
      if (room > 0) meantime_fill(value, value_length, c_value);
      *buflen = c_length - 1;
    }
    *flag = meantime_logical(c_flag);
  }
  free(c_key);
  free(c_value);
  meantime_store(ierror, error);
}
SAME_IN_F08(info_get_string)

BINDING void FORTRAN(session_get_nth_pset)(MPI_Fint* session, MPI_Fint* info, MPI_Fint* n,
                                           MPI_Fint* pset_len, char* pset_name, MPI_Fint* ierror,
                                           size_t name_length) {
  const size_t room = *pset_len <= 0 ? 0 : smaller((size_t)*pset_len, name_length);
  char* c_name = meantime_allocate(room + 1);
  int c_length = room == 0 ? (*pset_len < 0 ? *pset_len : 0) : (int)room + 1;
  c_name[0] = '\0';
  const int error = MPI_CALL(Session_get_nth_pset)(meantime_to_Session(*session),
                                                   meantime_to_Info(*info), *n, &c_length, c_name);
  if (error == MPI_SUCCESS) {
    if (room > 0) meantime_fill(pset_name, name_length, c_name);
    *pset_len = c_length - 1;
  }
  free(c_name);
  meantime_store(ierror, error);
}
SAME_IN_F08(session_get_nth_pset)

// --- Lists of strings

static int is_blank(const char* text, size_t length) {
  while (length > 0 && text[length - 1] == ' ') --length;
  return length == 0;
}

// The strings at `first`, `step` bytes apart, up to a blank one; closed by NULL.
static char** argument_list(const char* first, size_t step, size_t length) {
  size_t count = 0;
  while (!is_blank(first + count * step, length)) ++count;
  char** list = meantime_allocate((count + 1) * sizeof *list);
  for (size_t i = 0; i < count; ++i) list[i] = meantime_stripped(first + i * step, length);
  list[count] = NULL;
  return list;
}

static void free_argument_list(char** list) {
  if (list == MPI_ARGV_NULL) return;
  for (char** string = list; *string != NULL; ++string) free(*string);
  free(list);
}

BINDING void FORTRAN(comm_spawn)(char* command, char* argv, MPI_Fint* maxprocs, MPI_Fint* info,
                                 MPI_Fint* root, MPI_Fint* comm, MPI_Fint* intercomm,
                                 MPI_Fint* array_of_errcodes, MPI_Fint* ierror,
                                 size_t command_length, size_t argv_length) {
  char* c_command = meantime_string(command, command_length);
  char** c_argv = argv == mpi_fortran_argv_null_ ? MPI_ARGV_NULL
                                                 : argument_list(argv, argv_length, argv_length);
  int* c_errcodes =
      array_of_errcodes == mpi_fortran_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : array_of_errcodes;
  MPI_Comm c_intercomm = MPI_COMM_NULL;
  const int error = MPI_CALL(Comm_spawn)(c_command, c_argv, *maxprocs, meantime_to_Info(*info),
                                         *root, meantime_to_Comm(*comm), &c_intercomm, c_errcodes);
  if (error == MPI_SUCCESS) *intercomm = meantime_from_Comm(c_intercomm);
  free(c_command);
  free_argument_list(c_argv);
  meantime_store(ierror, error);
}
SAME_IN_F08(comm_spawn)

// array_of_argv(count, *): the words of one command are `count` strings apart. What the commands
// are is significant at the root only, so elsewhere nothing is read.
BINDING void FORTRAN(comm_spawn_multiple)(MPI_Fint* count, char* array_of_commands,
                                          char* array_of_argv, MPI_Fint* array_of_maxprocs,
                                          MPI_Fint* array_of_info, MPI_Fint* root, MPI_Fint* comm,
                                          MPI_Fint* intercomm, MPI_Fint* array_of_errcodes,
                                          MPI_Fint* ierror, size_t commands_length,
                                          size_t argv_length) {
  MPI_Comm c_comm = meantime_to_Comm(*comm);
  int rank = -1;
  if (c_comm != MPI_COMM_NULL && c_comm != 0) PMPI_Comm_rank(c_comm, &rank);
  const int programs = rank == *root && *count > 0 ? *count : 0;
  const int with_arguments = array_of_argv != mpi_fortran_argvs_null_;
  char** commands = meantime_allocate((size_t)programs * sizeof *commands);
  char*** arguments = meantime_allocate((size_t)programs * sizeof *arguments);
  MPI_Info* infos = meantime_allocate((size_t)programs * sizeof *infos);
  for (int i = 0; i < programs; ++i) {
    commands[i] = meantime_string(array_of_commands + (size_t)i * commands_length, commands_length);
    arguments[i] = with_arguments ? argument_list(array_of_argv + (size_t)i * argv_length,
                                                  (size_t)programs * argv_length, argv_length)
                                  : MPI_ARGV_NULL;
    infos[i] = meantime_to_Info(array_of_info[i]);
  }
  int* c_errcodes =
      array_of_errcodes == mpi_fortran_errcodes_ignore_ ? MPI_ERRCODES_IGNORE : array_of_errcodes;
  MPI_Comm c_intercomm = MPI_COMM_NULL;
  const int error = MPI_CALL(Comm_spawn_multiple)(
      *count, commands, with_arguments ? arguments : MPI_ARGVS_NULL, array_of_maxprocs, infos,
      *root, c_comm, &c_intercomm, c_errcodes);
  if (error == MPI_SUCCESS) *intercomm = meantime_from_Comm(c_intercomm);
  for (int i = 0; i < programs; ++i) {
    free(commands[i]);
    free_argument_list(arguments[i]);
  }
  free(commands);
  free(arguments);
  free(infos);
  meantime_store(ierror, error);
}
SAME_IN_F08(comm_spawn_multiple)
