// C++ exceptions that leave a user's callback: they come out of the MPI call that made the
// callback, and MPI goes on. What MPICH, whose frames have nothing to unwind, leaves undone is
// asked of Meantime alone.
#include <exception>
#include <stdexcept>

#include "check.h"

using namespace check;

namespace {

struct Thrown : std::runtime_error {
  explicit Thrown(int number) : std::runtime_error("of a callback"), number(number) {}
  int number;
};

bool throwing = true;
int calls = 0;

/// What the call throws: the number that it was thrown with; 0 if it returns.
template <class Call>
int thrown_by(Call&& call) {
  int number = 0;
  try {
    call();
  } catch (const Thrown& thrown) {
    number = thrown.number;
    CHECK(strcmp(thrown.what(), "of a callback") == 0);
  }
  CHECK(std::uncaught_exceptions() == 0, "%d", std::uncaught_exceptions());
  return number;
}

/// The ranks still understand each other.
void goes_on() {
  int sum = 0;
  const int one = 1;
  MUST(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK(sum == size);
}

// --- error handlers

void comm_handler(MPI_Comm*, int* code, ...) {
  ++calls;
  throw Thrown(error_class(*code));
}
void session_handler(MPI_Session*, int* code, ...) {
  throw Thrown(error_class(*code));
}
void nested_handler(MPI_Comm*, int* code, ...) {
  int unused = 0;
  const int inner = thrown_by([&] { MPI_Send(&unused, 1, MPI_INT, size, 0, MPI_COMM_WORLD); });
  CHECK(inner == MPI_ERR_RANK);
  throw Thrown(error_class(*code) + 1000);
}

void error_handlers() {
  MPI_Errhandler handler;
  MPI_Comm copy;
  int unused = 0;
  MUST(MPI_Comm_create_errhandler(comm_handler, &handler));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
  for (int round = 0; round < 3; ++round) {
    calls = 0;
    CHECK(thrown_by([&] { MPI_Send(&unused, -1, MPI_INT, 0, 0, MPI_COMM_WORLD); }) ==
          MPI_ERR_COUNT);
    CHECK(thrown_by([&] { MPI_Bcast(&unused, 1, MPI_INT, size, MPI_COMM_WORLD); }) == MPI_ERR_ROOT);
    CHECK(thrown_by([&] { MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER); }) ==
          MPI_ERR_OTHER);
    CHECK(calls == 3, "%d", calls);
  }
  // A failure that belongs to the communicator of a request.
  int two[2] = {1, 2};
  int one = 0;
  MPI_Request request;
  MUST(MPI_Irecv(&one, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, &request));
  MUST(MPI_Send(two, 2, MPI_INT, rank, 5, MPI_COMM_WORLD));
  const int truncated = thrown_by([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
  CHECK(truncated == MPI_ERR_TRUNCATE, "%d", truncated);

  MUST(MPI_Errhandler_free(&handler));
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  MUST(MPI_Comm_create_errhandler(nested_handler, &handler));
  MUST(MPI_Comm_set_errhandler(copy, handler));
  MUST(MPI_Errhandler_free(&handler));
  CHECK(thrown_by([&] { MPI_Send(&unused, 1, MPI_INT, 0, -7, copy); }) == MPI_ERR_TAG + 1000);
  MUST(MPI_Comm_free(&copy));

  MPI_Session session;
  MUST(MPI_Session_create_errhandler(session_handler, &handler));
  MUST(MPI_Session_init(MPI_INFO_NULL, handler, &session));
  MUST(MPI_Errhandler_free(&handler));
  CHECK(thrown_by([&] { MPI_Session_call_errhandler(session, MPI_ERR_OTHER); }) == MPI_ERR_OTHER);
  MUST(MPI_Session_finalize(&session));

  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  goes_on();
}

// --- operators

void op(void* in, void* inout, int* count, MPI_Datatype*) {
  ++calls;
  if (throwing) {
    throw Thrown(17);
  }
  for (int i = 0; i < *count; ++i) {
    static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
  }
}
void large_op(void*, void*, MPI_Count*, MPI_Datatype*) {
  throw Thrown(18);
}

void operators() {
  MPI_Op own;
  MPI_Op large;
  std::vector<int> in(5000, 1);
  std::vector<int> out(5000, 2);
  const int many = static_cast<int>(in.size());
  MUST(MPI_Op_create(op, 1, &own));
  MUST(MPI_Op_create_c(large_op, 1, &large));
  CHECK(thrown_by([&] { MPI_Reduce_local(in.data(), out.data(), 1, MPI_INT, own); }) == 17);
  CHECK(thrown_by([&] { MPI_Reduce_local(in.data(), out.data(), 1, MPI_INT, large); }) == 18);
  // Which ranks' calls run the operator is the library's business; all of them come back.
  for (const int count : {1, many}) {
    if (on_mpich()) {
      break;
    }
    calls = 0;
    int seen = thrown_by(
        [&] { MPI_Allreduce(in.data(), out.data(), count, MPI_INT, own, MPI_COMM_WORLD); });
    CHECK(seen == (calls != 0 ? 17 : 0));
    calls = 0;
    seen = thrown_by(
        [&] { MPI_Reduce(in.data(), out.data(), count, MPI_INT, own, size - 1, MPI_COMM_WORLD); });
    CHECK(seen == (calls != 0 ? 17 : 0));
    calls = 0;
    seen = thrown_by([&] { MPI_Scan(in.data(), out.data(), count, MPI_INT, own, MPI_COMM_WORLD); });
    CHECK(seen == (calls != 0 ? 17 : 0));
    MPI_Request request = MPI_REQUEST_NULL;
    calls = 0;
    seen = thrown_by([&] {
      MPI_Iallreduce(in.data(), out.data(), count, MPI_INT, own, MPI_COMM_WORLD, &request);
    });
    while (request != MPI_REQUEST_NULL) {
      const int later = thrown_by([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); });
      seen = later != 0 ? later : seen;
    }
    CHECK(seen == (calls != 0 ? 17 : 0));
    goes_on();
  }
  throwing = false;
  MUST(MPI_Allreduce(in.data(), out.data(), many, MPI_INT, own, MPI_COMM_WORLD));
  CHECK(out.front() == size && out.back() == size);
  throwing = true;
  MUST(MPI_Op_free(&own));
  MUST(MPI_Op_free(&large));
}

// --- attributes

template <class Handle>
int copy_function(Handle, int, void*, void*, void*, int*) {
  throw Thrown(30);
}
template <class Handle>
int delete_function(Handle, int, void*, void*) {
  if (throwing) {
    throw Thrown(31);
  }
  ++calls;
  return MPI_SUCCESS;
}

void attributes() {
  int key;
  int flag = 0;
  int value = 0;
  void* found = nullptr;
  MPI_Comm comm;
  MPI_Comm copy = MPI_COMM_NULL;
  MUST(MPI_Comm_create_keyval(copy_function<MPI_Comm>, delete_function<MPI_Comm>, &key, nullptr));
  MUST(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MUST(MPI_Comm_set_attr(comm, key, &value));
  if (!on_mpich()) {  // where the copy is half made for good
    CHECK(thrown_by([&] { MPI_Comm_dup(comm, &copy); }) == 30);
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK(thrown_by([&] { MPI_Comm_idup(comm, &copy, &request); }) == 30);
  }
  CHECK(thrown_by([&] { MPI_Comm_delete_attr(comm, key); }) == 31);
  CHECK(thrown_by([&] { MPI_Comm_set_attr(comm, key, &key); }) == 31);
  MUST(MPI_Comm_get_attr(comm, key, &found, &flag));
  CHECK(flag && found == &value);
  CHECK(thrown_by([&] { MPI_Comm_free(&comm); }) == 31);
  CHECK(comm != MPI_COMM_NULL);
  throwing = false;
  calls = 0;
  MUST(MPI_Comm_free(&comm));
  CHECK(calls == 1);
  throwing = true;
  MUST(MPI_Comm_free_keyval(&key));

  MPI_Datatype type;
  MPI_Datatype other = MPI_DATATYPE_NULL;
  MUST(MPI_Type_create_keyval(copy_function<MPI_Datatype>, delete_function<MPI_Datatype>, &key,
                              nullptr));
  MUST(MPI_Type_contiguous(3, MPI_INT, &type));
  MUST(MPI_Type_set_attr(type, key, &value));
  if (!on_mpich()) {
    CHECK(thrown_by([&] { MPI_Type_dup(type, &other); }) == 30);
  }
  CHECK(thrown_by([&] { MPI_Type_free(&type); }) == 31);
  CHECK(type != MPI_DATATYPE_NULL);
  throwing = false;
  MUST(MPI_Type_free(&type));
  throwing = true;
  MUST(MPI_Type_free_keyval(&key));
  goes_on();
}

// --- generalised requests

int throw_in = 0;  // which function does
int freed = 0;
int query_function(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_BYTE, 0);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
  if (throw_in == 1) {
    throw Thrown(41);
  }
  return MPI_SUCCESS;
}
int free_function(void*) {
  ++freed;
  if (throw_in == 2) {
    throw Thrown(42);
  }
  return MPI_SUCCESS;
}
int cancel_function(void*, int) {
  if (throw_in == 3) {
    throw Thrown(43);
  }
  return MPI_SUCCESS;
}

void generalized_requests() {
  for (throw_in = 1; throw_in <= 2; ++throw_in) {
    MPI_Request request;
    freed = 0;
    MUST(MPI_Grequest_start(query_function, free_function, cancel_function, nullptr, &request));
    MUST(MPI_Grequest_complete(request));
    CHECK(thrown_by([&] { MPI_Wait(&request, MPI_STATUS_IGNORE); }) == 40 + throw_in);
    if (!on_mpich()) {
      CHECK(request == MPI_REQUEST_NULL && freed == 1);
    }
  }
  MPI_Request request;
  throw_in = 3;
  MUST(MPI_Grequest_start(query_function, free_function, cancel_function, nullptr, &request));
  CHECK(thrown_by([&] { MPI_Cancel(&request); }) == 43);
  MUST(MPI_Grequest_complete(request));
  MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));

  // Freed before it is complete: the call that notices runs the function.
  throw_in = 2;
  if (!on_mpich()) {
    freed = 0;
    MUST(MPI_Grequest_start(query_function, free_function, cancel_function, nullptr, &request));
    MPI_Request same = request;
    MUST(MPI_Request_free(&request));
    int seen = thrown_by([&] { MPI_Grequest_complete(same); });
    while (freed == 0) {
      int flag = 0;
      seen = thrown_by([&] { MPI_Iprobe(rank, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); });
    }
    CHECK(seen == 42 && freed == 1);
  }
  throw_in = 0;
  goes_on();
}

}  // namespace

int main(int argc, char** argv) {
  start(argc, argv);
  error_handlers();
  operators();
  attributes();
  generalized_requests();
  return finish();
}
