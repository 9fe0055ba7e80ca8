// MPI_Reduce_local and users' operators: the argument order, what a user's function gets to see,
// which operators are defined for which types. Local work only.
#include "check.h"

using namespace check;

static MPI_Datatype seen_type;
static int calls;

// Neither commutative nor symmetric: in - 2 * inout.
static void skewed(void* in, void* inout, int* count, MPI_Datatype* type) {
  seen_type = *type;
  ++calls;
  for (int i = 0; i < *count; ++i)
    static_cast<int*>(inout)[i] = static_cast<int*>(in)[i] - 2 * static_cast<int*>(inout)[i];
}

static void skewed_large(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) {
  seen_type = *type;
  ++calls;
  for (MPI_Count i = 0; i < *count; ++i)
    static_cast<int*>(inout)[i] = static_cast<int*>(in)[i] - 2 * static_cast<int*>(inout)[i];
}

static void users_operators() {
  MPI_Op plain, large;
  MPI_Datatype pair;
  int commutes = -1;
  MUST(MPI_Op_create(skewed, 0, &plain));
  MUST(MPI_Op_create_c(skewed_large, 1, &large));
  MUST(MPI_Op_commutative(plain, &commutes));
  CHECK(commutes == 0);
  MUST(MPI_Op_commutative(large, &commutes));
  CHECK(commutes == 1);
  MUST(MPI_Op_commutative(MPI_SUM, &commutes));
  CHECK(commutes == 1);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (MPI_Op op : {plain, large}) {
    const int in[] = {10, 20};
    int inout[] = {1, 2};
    calls = 0;
    MUST(MPI_Reduce_local(in, inout, 2, MPI_INT, op));
    CHECK(inout[0] == 8 && inout[1] == 16 && calls == 1);
    CHECK(seen_type == MPI_INT);
    MUST(MPI_Reduce_local(in, inout, 1, pair, op));
    CHECK(inout[0] == -6 && seen_type == pair);
    MUST(MPI_Reduce_local_c(in, inout, 1, MPI_INT, op));
    CHECK(inout[0] == 22);
    calls = 0;
    MUST(MPI_Reduce_local(in, inout, 0, MPI_INT, op));
    CHECK(inout[0] == 22);
  }
  MPI_Type_free(&pair);
  MPI_Op_free(&plain);
  MPI_Op_free(&large);
  CHECK(plain == MPI_OP_NULL);
}

static void built_in() {
  const double in[] = {1, -2, 3};
  double inout[] = {10, 20, -30};
  MUST(MPI_Reduce_local(in, inout, 3, MPI_DOUBLE, MPI_SUM));
  CHECK(inout[0] == 11 && inout[1] == 18 && inout[2] == -27);
  MUST(MPI_Reduce_local(in, inout, 3, MPI_DOUBLE, MPI_MAX));
  CHECK(inout[0] == 11 && inout[1] == 18 && inout[2] == 3);
  struct {
    double value;
    int index;
  } a[] = {{3, 7}, {5, 1}}, b[] = {{3, 4}, {4, 2}};
  MUST(MPI_Reduce_local(a, b, 2, MPI_DOUBLE_INT, MPI_MAXLOC));
  CHECK(b[0].index == 4 && b[1].value == 5 && b[1].index == 1);
  const float complex_in[] = {1, 2};
  float complex_inout[] = {3, 4};
  MUST(MPI_Reduce_local(complex_in, complex_inout, 1, MPI_C_FLOAT_COMPLEX, MPI_PROD));
  CHECK(complex_inout[0] == -5 && complex_inout[1] == 10);
  const signed char c[] = {100, 1};
  signed char d[] = {100, 0};
  MUST(MPI_Reduce_local(c, d, 2, MPI_SIGNED_CHAR, MPI_LXOR));
  CHECK(d[0] == 0 && d[1] == 1);
}

// One letter for each class of MPI 5.0, 6.9.2: sum, min, band, land, minloc.
static void defined() {
  const struct {
    MPI_Datatype type;
    const char* operators;
  } table[] = {{MPI_INT, "smbl"},
               {MPI_CHAR, "smbl"},
               {MPI_UINT64_T, "smbl"},
               {MPI_AINT, "smbl"},
               {MPI_COUNT, "smbl"},
               {MPI_INTEGER, "smb"},
               {MPI_INTEGER8, "smb"},
               {MPI_FLOAT, "sm"},
               {MPI_LONG_DOUBLE, "sm"},
               {MPI_REAL16, "sm"},
               {MPI_DOUBLE_PRECISION, "sm"},
               {MPI_C_DOUBLE_COMPLEX, "s"},
               {MPI_COMPLEX, "s"},
               {MPI_LOGICAL, "l"},
               {MPI_C_BOOL, "l"},
               {MPI_LOGICAL2, "l"},
               {MPI_BYTE, "b"},
               {MPI_CHARACTER, ""},
               {MPI_WCHAR, ""},
               {MPI_PACKED, ""},
               {MPI_2INT, "i"},
               {MPI_LONG_DOUBLE_INT, "i"},
               {MPI_2REAL, "i"}};
  const struct {
    MPI_Op op;
    char letter;
  } operators[] = {{MPI_SUM, 's'},    {MPI_PROD, 's'},  {MPI_MIN, 'm'},  {MPI_MAX, 'm'},
                   {MPI_BAND, 'b'},   {MPI_BXOR, 'b'},  {MPI_LAND, 'l'}, {MPI_LOR, 'l'},
                   {MPI_MINLOC, 'i'}, {MPI_MAXLOC, 'i'}};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  alignas(32) char a[64] = {}, b[64] = {};
  for (const auto& row : table) {
    for (const auto& column : operators) {
      const bool is_defined = strchr(row.operators, column.letter) != nullptr;
      const int code = error_class(MPI_Reduce_local(a, b, 1, row.type, column.op));
      CHECK(code == (is_defined ? MPI_SUCCESS : MPI_ERR_OP), "type %#lx operator %#lx: %d",
            long(row.type), long(column.op), code);
    }
  }
  MPI_Op sum = MPI_SUM;
  CHECK(error_class(MPI_Op_free(&sum)) == MPI_ERR_OP);
}

int main(int argc, char** argv) {
  start(argc, argv);
  users_operators();
  built_in();
  defined();
  return finish();
}
