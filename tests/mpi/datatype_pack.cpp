// Packing: against loops written by hand, piece after piece into one buffer, in external32; and the
// element counts of a status. Local work only.
#include "check.h"

using namespace check;

static void column_of_a_matrix() {
  constexpr int n = 50;
  static double matrix[n][n], column[n];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) matrix[i][j] = i * 100 + j;
  MPI_Datatype type, shifted;
  MPI_Type_vector(n, 1, n, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  int position = 0, bytes = -1;
  MUST(MPI_Pack_size(1, type, MPI_COMM_SELF, &bytes));
  CHECK(bytes >= int(sizeof column), "%d", bytes);
  MUST(MPI_Pack(&matrix[0][7], 1, type, column, sizeof column, &position, MPI_COMM_SELF));
  CHECK(position == int(sizeof column));
  for (int i = 0; i < n; ++i) CHECK(column[i] == i * 100 + 7, "%d", i);

  // All columns: the transposed matrix.
  static double transposed[n][n];
  MPI_Type_create_resized(type, 0, sizeof(double), &shifted);
  MPI_Type_commit(&shifted);
  position = 0;
  MUST(MPI_Pack(matrix, n, shifted, transposed, sizeof transposed, &position, MPI_COMM_SELF));
  bool right = true;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) right = right && transposed[j][i] == matrix[i][j];
  CHECK(right);
  position = 0;
  static double back[n][n];
  MUST(MPI_Unpack(transposed, sizeof transposed, &position, back, n, shifted, MPI_COMM_SELF));
  CHECK(!memcmp(back, matrix, sizeof matrix));
  MPI_Type_free(&type);
  MPI_Type_free(&shifted);
}

struct Record {
  char tag;
  double value;
  int list[3];
  short last;
};

static void records() {
  constexpr int n = 33;
  static Record in[n], out[n];
  fill(in, sizeof in, 1);
  const int lengths[] = {1, 1, 3, 1};
  const MPI_Aint places[] = {offsetof(Record, tag), offsetof(Record, value), offsetof(Record, list),
                             offsetof(Record, last)};
  const MPI_Datatype types[] = {MPI_CHAR, MPI_DOUBLE, MPI_INT, MPI_SHORT};
  MPI_Datatype type;
  MPI_Type_create_struct(4, lengths, places, types, &type);
  MPI_Type_commit(&type);
  MPI_Aint lb, extent;
  MPI_Type_get_extent(type, &lb, &extent);
  CHECK(extent == sizeof(Record), "%ld", long(extent));
  static char packed[n * 23 + 100];
  int position = 5;  // behind something else
  MUST(MPI_Pack(in, n, type, packed, sizeof packed, &position, MPI_COMM_SELF));
  CHECK(position == 5 + n * 23, "%d", position);
  int more = 4711;
  MUST(MPI_Pack(&more, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_SELF));
  const char* at = packed + 5;
  for (const Record& record : in) {
    CHECK(at[0] == record.tag);
    CHECK(!memcmp(at + 1, &record.value, 8));
    CHECK(!memcmp(at + 9, record.list, 12));
    CHECK(!memcmp(at + 21, &record.last, 2));
    at += 23;
  }
  position = 5;
  MUST(MPI_Unpack(packed, sizeof packed, &position, out, n, type, MPI_COMM_SELF));
  more = 0;
  MUST(MPI_Unpack(packed, sizeof packed, &position, &more, 1, MPI_INT, MPI_COMM_SELF));
  CHECK(more == 4711);
  for (int i = 0; i < n; ++i) {
    CHECK(in[i].tag == out[i].tag && in[i].last == out[i].last);
    CHECK(!memcmp(&in[i].value, &out[i].value, 8) && !memcmp(in[i].list, out[i].list, 12));
  }
  MPI_Type_free(&type);
}

static void absolute_addresses() {
  int first[3] = {1, 2, 3}, second[2] = {4, 5}, packed[5] = {};
  const int lengths[] = {3, 2};
  MPI_Aint places[2];
  MPI_Get_address(first, &places[0]);
  MPI_Get_address(second, &places[1]);
  MPI_Datatype type;
  MPI_Type_create_hindexed(2, lengths, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  int position = 0;
  MUST(MPI_Pack(MPI_BOTTOM, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF));
  for (int i = 0; i < 5; ++i) CHECK(packed[i] == i + 1, "%d", packed[i]);
  MPI_Type_free(&type);
}

static void external32() {
  const int numbers[] = {0x01020304, -2};
  unsigned char out[8];
  MPI_Aint position = 0, bytes = -1;
  // A long has four bytes outside, whatever it has here.
  const long longs[2] = {-5, 0x12345678};
  long back_longs[2] = {0, 0};
  MUST(MPI_Pack_external_size("external32", 2, MPI_LONG, &bytes));
  CHECK(bytes == 8);
  unsigned char four[8];
  position = 0;
  MUST(MPI_Pack_external("external32", longs, 2, MPI_LONG, four, sizeof four, &position));
  CHECK(position == 8 && four[3] == 0xfb && four[4] == 0x12 && four[7] == 0x78);
  position = 0;
  MUST(MPI_Unpack_external("external32", four, sizeof four, &position, back_longs, 2, MPI_LONG));
  CHECK(back_longs[0] == -5 && back_longs[1] == 0x12345678);
  position = 0;
  MUST(MPI_Pack_external_size("external32", 2, MPI_INT, &bytes));
  CHECK(bytes == 8, "%ld", long(bytes));
  MUST(MPI_Pack_external("external32", numbers, 2, MPI_INT, out, sizeof out, &position));
  const unsigned char wanted[] = {1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe};
  CHECK(position == 8 && !memcmp(out, wanted, 8));

  if (on_mpich()) {
    return;  // MPICH 5.0.2 stops with SIGILL in Pack_external and Pack_external_size of a struct
  }
  MPI_Datatype type;
  const int lengths[] = {1, 2};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_SHORT};
  MPI_Type_create_struct(2, lengths, places, types, &type);
  MPI_Type_commit(&type);
  struct {
    double value;
    short list[4];
  } in[3] = {{1.5, {1, 2}}, {-3e300, {-4, 5}}, {0, {7, 8}}}, back[3] = {};
  char packed[36];
  MUST(MPI_Pack_external_size("external32", 3, type, &bytes));
  CHECK(bytes == 36, "%ld", long(bytes));
  position = 0;
  MUST(MPI_Pack_external("external32", in, 3, type, packed, sizeof packed, &position));
  CHECK(position == 36 && packed[0] == 0x3f && (packed[1] & 0xff) == 0xf8 && packed[9] == 1);
  position = 0;
  MUST(MPI_Unpack_external("external32", packed, sizeof packed, &position, back, 3, type));
  CHECK(position == 36 && !memcmp(in, back, sizeof in));
  MPI_Type_free(&type);
}

static void elements() {
  MPI_Datatype type;
  const int lengths[] = {1, 2};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct(2, lengths, places, types, &type);
  MPI_Type_commit(&type);
  MPI_Status status;
  const struct {
    int bytes, count, elements;
  } cases[] = {
      {0, 0, 0}, {4, MPI_UNDEFINED, 1}, {12, MPI_UNDEFINED, 2}, {20, 1, 3}, {44, MPI_UNDEFINED, 7}};
  for (const auto& c : cases) {
    int count = -1, found = -1;
    MPI_Count large = -1;
    MUST(MPI_Status_set_elements(&status, MPI_BYTE, c.bytes));
    MUST(MPI_Get_count(&status, type, &count));
    MUST(MPI_Get_elements(&status, type, &found));
    MUST(MPI_Get_elements_x(&status, type, &large));
    CHECK(count == c.count, "%d bytes: %d", c.bytes, count);
    CHECK(found == c.elements && large == c.elements, "%d bytes: %d", c.bytes, found);
  }
  MUST(MPI_Status_set_elements_c(&status, MPI_INT, MPI_Count{3} << 31));
  int count = 0;
  MUST(MPI_Get_count(&status, MPI_INT, &count));
  CHECK(count == MPI_UNDEFINED);
  MPI_Count large = 0;
  MUST(MPI_Get_count_c(&status, MPI_INT, &large));
  CHECK(large == MPI_Count{3} << 31);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(argc, argv);
  column_of_a_matrix();
  records();
  absolute_addresses();
  external32();
  elements();
  return finish();
}
