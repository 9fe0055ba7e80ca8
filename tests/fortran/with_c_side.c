// with_c.f90's other side.
#include <mpi.h>
#include <string.h>

static int landed;

int c_uses(int comm, int datatype, int op, int group, int info, int errhandler);
void c_gives(int* comm, int* datatype, int* request, int* keyval);
int c_looks_at(MPI_F08_status* status, int comm, int keyval);

int c_uses(int comm, int datatype, int op, int group, int info, int errhandler) {
  int size = 0, world_size = 0, in_group = 0, bytes = 0, one = 1, sum = 0, flag = 0, length = 20;
  char value[20];
  MPI_Comm c_comm = MPI_Comm_f2c(comm);
  MPI_Comm_size(c_comm, &size);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Type_size(MPI_Type_f2c(datatype), &bytes);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_Op_f2c(op), c_comm);
  MPI_Group_size(MPI_Group_f2c(group), &in_group);
  MPI_Info_get_string(MPI_Info_f2c(info), "key", &length, value, &flag);
  return size == world_size && bytes == 12 && sum == size && in_group == size && flag &&
                 strcmp(value, "value") == 0 &&
                 MPI_Errhandler_f2c(errhandler) == MPI_ERRORS_RETURN && MPI_Comm_c2f(c_comm) == comm
             ? 0
             : 1;
}

void c_gives(int* comm, int* datatype, int* request, int* keyval) {
  MPI_Comm c_comm;
  MPI_Datatype c_type;
  MPI_Request c_request;
  int rank, size;
  MPI_Comm_dup(MPI_COMM_WORLD, &c_comm);
  MPI_Comm_rank(c_comm, &rank);
  MPI_Comm_size(c_comm, &size);
  MPI_Type_contiguous(4, MPI_BYTE, &c_type);
  MPI_Type_commit(&c_type);
  MPI_Irecv(&landed, 4, MPI_BYTE, (rank + size - 1) % size, 9, c_comm, &c_request);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, keyval, NULL);
  MPI_Comm_set_attr(c_comm, *keyval, (void*)4711);
  *comm = MPI_Comm_c2f(c_comm);
  *datatype = MPI_Type_c2f(c_type);
  *request = MPI_Request_c2f(c_request);
}

int c_looks_at(MPI_F08_status* status, int comm, int keyval) {
  MPI_Status c_status;
  int count = 0, flag = 0, rank, size;
  void* attribute = NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Status_f082c(status, &c_status);
  MPI_Get_count(&c_status, MPI_BYTE, &count);
  MPI_Comm_get_attr(MPI_Comm_f2c(comm), keyval, &attribute, &flag);
  return count == 4 && landed == (rank + size - 1) % size && flag && *(MPI_Aint*)attribute == -5
             ? 0
             : 1;
}
