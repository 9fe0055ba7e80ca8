// What MPI says about datatypes: bounds and sizes of every constructor, envelope and contents in
// both forms, names, predefined types that have none, errors. Local work only.
#include <climits>

#include "check.h"

using namespace check;

static void expect(MPI_Datatype type, const char* what, MPI_Count size, MPI_Count lb,
                   MPI_Count extent, MPI_Count true_lb, MPI_Count true_extent) {
  MPI_Count got = 0, low = 0, span = 0, true_low = 0, true_span = 0;
  MUST(MPI_Type_size_c(type, &got));
  MUST(MPI_Type_get_extent_c(type, &low, &span));
  MUST(MPI_Type_get_true_extent_c(type, &true_low, &true_span));
  CHECK(
      got == size && low == lb && span == extent && true_low == true_lb && true_span == true_extent,
      "%s: size %ld lb %ld extent %ld true %ld %ld", what, long(got), long(low), long(span),
      long(true_low), long(true_span));
  if (size <= INT_MAX) {
    int small = -1;
    MPI_Aint a = -1, b = -1;
    MUST(MPI_Type_size(type, &small));
    MUST(MPI_Type_get_extent(type, &a, &b));
    CHECK(small == size && a == lb && b == extent, "%s in the int form", what);
  }
}

static void bounds() {
  MPI_Datatype type, inner;
  const int lengths[] = {2, 0, 1};
  const int places[] = {5, -7, -3};
  const MPI_Aint bytes[] = {20, -28, -12};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};

  MPI_Type_contiguous(3, MPI_INT, &type);
  expect(type, "contiguous", 12, 0, 12, 0, 12);
  MPI_Type_free(&type);
  MPI_Type_contiguous(0, MPI_INT, &type);
  expect(type, "contiguous of nothing", 0, 0, 0, 0, 0);
  MPI_Type_free(&type);
  MPI_Type_vector(3, 2, -5, MPI_SHORT, &type);
  expect(type, "vector with a negative stride", 12, -20, 24, -20, 24);
  MPI_Type_free(&type);
  MPI_Type_create_hvector(3, 1, 7, MPI_CHAR, &type);
  expect(type, "hvector", 3, 0, 15, 0, 15);
  MPI_Type_free(&type);
  MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
  expect(type, "indexed", 12, -12, 40, -12, 40);
  MPI_Type_free(&type);
  MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type);
  expect(type, "hindexed", 12, -12, 40, -12, 40);
  MPI_Type_free(&type);
  MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type);
  expect(type, "indexed_block", 24, -28, 56, -28, 56);
  MPI_Type_free(&type);
  MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type);
  expect(type, "hindexed_block", 24, -28, 56, -28, 56);
  MPI_Type_free(&type);
  MPI_Type_create_struct(3, lengths, bytes, types, &type);
  expect(type, "struct", 9, -12, 40, -12, 40);
  MPI_Type_free(&type);

  // A struct ends where its most demanding member would start again.
  const int ones[] = {1, 1};
  const MPI_Aint record[] = {0, 8};
  const MPI_Datatype members[] = {MPI_DOUBLE, MPI_CHAR};
  MPI_Type_create_struct(2, ones, record, members, &inner);
  expect(inner, "padded struct", 9, 0, 16, 0, 9);
  MPI_Type_vector(2, 1, 3, inner, &type);
  expect(type, "vector of it", 18, 0, 64, 0, 57);
  MPI_Type_free(&type);
  MPI_Type_create_resized(inner, -4, 40, &type);
  MPI_Type_free(&inner);
  expect(type, "resized", 9, -4, 40, 0, 9);
  MPI_Type_contiguous(2, type, &inner);
  MPI_Type_free(&type);
  expect(inner, "two resized", 18, -4, 80, 0, 49);
  MPI_Type_dup(inner, &type);
  MPI_Type_free(&inner);
  expect(type, "dup", 18, -4, 80, 0, 49);
  MPI_Type_free(&type);

  const int sizes[] = {4, 5, 6}, part[] = {2, 3, 1}, start[] = {1, 2, 5};
  MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &type);
  expect(type, "subarray", 48, 0, 960, 8 * (30 + 12 + 5), 8 * (30 + 12 + 1));
  MPI_Type_free(&type);
  MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_FORTRAN, MPI_DOUBLE, &type);
  expect(type, "Fortran's subarray", 48, 0, 960, 8 * (1 + 8 + 100), 8 * (1 + 8 + 1));
  MPI_Type_free(&type);

  const int global[] = {10, 9}, kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
            arguments_of[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 2};
  MPI_Type_create_darray(4, 3, 2, global, kinds, arguments_of, grid, MPI_ORDER_C, MPI_INT, &type);
  // Rows 5 to 9; columns 2, 3, 6 and 7.
  expect(type, "darray", 5 * 4 * 4, 0, 360, 4 * (5 * 9 + 2), 4 * (4 * 9 + 6));
  MPI_Type_free(&type);

  MPI_Type_vector_c(MPI_Count{1} << 33, 1, 2, MPI_DOUBLE, &type);
  expect(type, "huge", MPI_Count{1} << 36, 0, (MPI_Count{1} << 37) - 8, 0,
         (MPI_Count{1} << 37) - 8);
  int size_as_int = 0;
  MUST(MPI_Type_size(type, &size_as_int));
  CHECK(size_as_int == MPI_UNDEFINED, "is %d", size_as_int);
  MPI_Type_free(&type);
}

struct Contents {
  int integers[16];
  MPI_Aint addresses[8];
  MPI_Datatype types[4];
  int integer_count = -1, address_count = -1, type_count = -1, combiner = -1;
  explicit Contents(MPI_Datatype type) {
    MUST(MPI_Type_get_envelope(type, &integer_count, &address_count, &type_count, &combiner));
    MUST(MPI_Type_get_contents(type, 16, 8, 4, integers, addresses, types));
  }
  bool is(int wanted_combiner, std::vector<int> ints, std::vector<MPI_Aint> bytes) const {
    return combiner == wanted_combiner && integer_count == int(ints.size()) &&
           address_count == int(bytes.size()) && std::equal(ints.begin(), ints.end(), integers) &&
           std::equal(bytes.begin(), bytes.end(), addresses);
  }
};

static void contents() {
  MPI_Datatype type;
  const int lengths[] = {2, 1}, places[] = {0, 4};
  const MPI_Aint bytes[] = {0, 16};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  const auto check_type = [&](int combiner, std::vector<int> ints, std::vector<MPI_Aint> aints,
                              std::vector<MPI_Datatype> children, const char* what) {
    const Contents found(type);
    CHECK(found.is(combiner, ints, aints), "%s", what);
    CHECK(found.type_count == int(children.size()), "%s", what);
    CHECK(std::equal(children.begin(), children.end(), found.types), "%s", what);
    MPI_Type_free(&type);
  };
  MPI_Type_contiguous(7, MPI_INT, &type);
  check_type(MPI_COMBINER_CONTIGUOUS, {7}, {}, {MPI_INT}, "contiguous");
  MPI_Type_vector(3, 2, -5, MPI_INT, &type);
  check_type(MPI_COMBINER_VECTOR, {3, 2, -5}, {}, {MPI_INT}, "vector");
  MPI_Type_create_hvector(3, 2, -5, MPI_INT, &type);
  check_type(MPI_COMBINER_HVECTOR, {3, 2}, {-5}, {MPI_INT}, "hvector");
  MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
  check_type(MPI_COMBINER_INDEXED, {2, 2, 1, 0, 4}, {}, {MPI_INT}, "indexed");
  MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type);
  check_type(MPI_COMBINER_HINDEXED, {2, 2, 1}, {0, 16}, {MPI_INT}, "hindexed");
  MPI_Type_create_indexed_block(2, 3, places, MPI_INT, &type);
  check_type(MPI_COMBINER_INDEXED_BLOCK, {2, 3, 0, 4}, {}, {MPI_INT}, "indexed_block");
  MPI_Type_create_hindexed_block(2, 3, bytes, MPI_INT, &type);
  check_type(MPI_COMBINER_HINDEXED_BLOCK, {2, 3}, {0, 16}, {MPI_INT}, "hindexed_block");
  MPI_Type_create_struct(2, lengths, bytes, types, &type);
  check_type(MPI_COMBINER_STRUCT, {2, 2, 1}, {0, 16}, {MPI_INT, MPI_DOUBLE}, "struct");
  MPI_Type_create_resized(MPI_INT, -3, 9, &type);
  check_type(MPI_COMBINER_RESIZED, {}, {-3, 9}, {MPI_INT}, "resized");
  MPI_Type_dup(MPI_INT, &type);
  check_type(MPI_COMBINER_DUP, {}, {}, {MPI_INT}, "dup");
  const int sizes[] = {4, 5}, part[] = {2, 3}, start[] = {1, 2};
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_INT, &type);
  check_type(MPI_COMBINER_SUBARRAY, {2, 4, 5, 2, 3, 1, 2, MPI_ORDER_C}, {}, {MPI_INT}, "subarray");
  const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, arguments_of[] = {3, 2},
            grid[] = {2, 3};
  MPI_Type_create_darray(6, 4, 2, sizes, kinds, arguments_of, grid, MPI_ORDER_FORTRAN, MPI_INT,
                         &type);
  check_type(
      MPI_COMBINER_DARRAY,
      {6, 4, 2, 4, 5, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, 3, 2, 2, 3, MPI_ORDER_FORTRAN},
      {}, {MPI_INT}, "darray");

  int a = -1, b = -1, c = -1, combiner = -1;
  MUST(MPI_Type_get_envelope(MPI_DOUBLE_INT, &a, &b, &c, &combiner));
  CHECK(a == 0 && b == 0 && c == 0 && combiner == MPI_COMBINER_NAMED);
}

static void large_contents() {
  MPI_Datatype type;
  const MPI_Count lengths[] = {2, 1}, bytes[] = {0, 16};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Type_create_struct_c(2, lengths, bytes, types, &type);
  MPI_Count integers = -1, addresses = -1, large = -1, children = -1;
  int combiner = -1;
  MUST(MPI_Type_get_envelope_c(type, &integers, &addresses, &large, &children, &combiner));
  CHECK(integers == 0 && addresses == 0 && large == 5 && children == 2, "%ld %ld %ld %ld",
        long(integers), long(addresses), long(large), long(children));
  CHECK(combiner == MPI_COMBINER_STRUCT);
  MPI_Count counts[5];
  MPI_Datatype inside[2];
  int no_integers[1];
  MPI_Aint no_addresses[1];
  MUST(MPI_Type_get_contents_c(type, 0, 0, 5, 2, no_integers, no_addresses, counts, inside));
  const MPI_Count wanted[] = {2, 2, 1, 0, 16};
  CHECK(std::equal(wanted, wanted + 5, counts));
  CHECK(inside[0] == MPI_INT && inside[1] == MPI_DOUBLE);
  MPI_Type_free(&type);

  // The large form of the envelope of a type that the int form made.
  MPI_Type_vector(3, 2, -5, MPI_INT, &type);
  MUST(MPI_Type_get_envelope_c(type, &integers, &addresses, &large, &children, &combiner));
  CHECK(integers == 3 && addresses == 0 && large == 0 && children == 1);
  MPI_Type_free(&type);
}

static int released;
static int count_release(MPI_Datatype, int, void*, void*) {
  ++released;
  return MPI_SUCCESS;
}

// A type in the contents of another is the user's to free, and no new object.
static void derived_children() {
  MPI_Datatype inner, outer, again;
  int key = MPI_KEYVAL_INVALID;
  MUST(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, count_release, &key, nullptr));
  MPI_Type_vector(2, 1, 3, MPI_INT, &inner);
  MPI_Type_contiguous(4, inner, &outer);
  MPI_Type_free(&inner);
  CHECK(inner == MPI_DATATYPE_NULL);
  int count = 0;
  MUST(MPI_Type_get_contents(outer, 1, 0, 1, &count, nullptr, &again));
  CHECK(count == 4);
  expect(again, "child", 8, 0, 16, 0, 16);
  MPI_Type_free(&again);
  MUST(MPI_Type_set_attr(outer, key, &count));
  MPI_Type_free(&outer);
  CHECK(released == 1, "%d times", released);
  MUST(MPI_Type_free_keyval(&key));
}

static void names() {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  MPI_Datatype type;
  MUST(MPI_Type_get_name(MPI_UNSIGNED_LONG, name, &length));
  CHECK(!strcmp(name, "MPI_UNSIGNED_LONG") && length == 17, "%s", name);
  MUST(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
  CHECK(!strcmp(name, "MPI_DATATYPE_NULL"), "%s", name);
  MPI_Type_contiguous(2, MPI_INT, &type);
  MUST(MPI_Type_get_name(type, name, &length));
  CHECK(length == 0 && name[0] == 0);
  MUST(MPI_Type_set_name(type, "two numbers"));
  MUST(MPI_Type_get_name(type, name, &length));
  CHECK(!strcmp(name, "two numbers") && length == 11);
  MPI_Type_free(&type);
  MUST(MPI_Type_set_name(MPI_INT, "whole"));
  MUST(MPI_Type_get_name(MPI_INT, name, &length));
  CHECK(!strcmp(name, "whole"), "%s", name);
}

static void unnamed() {
  MPI_Datatype first, second;
  int size = 0;
  MUST(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &first));
  MUST(MPI_Type_create_f90_real(12, MPI_UNDEFINED, &second));
  CHECK(first == second);
  MUST(MPI_Type_size(first, &size));
  CHECK(size == 8, "%d", size);
  int integers[2], a = -1, b = -1, c = -1, combiner = -1;
  MUST(MPI_Type_get_envelope(first, &a, &b, &c, &combiner));
  CHECK(a == 2 && b == 0 && c == 0 && combiner == MPI_COMBINER_F90_REAL);
  MUST(MPI_Type_get_contents(first, 2, 0, 0, integers, nullptr, nullptr));
  CHECK(integers[0] == 12 && integers[1] == MPI_UNDEFINED);
  MUST(MPI_Type_create_f90_integer(7, &first));
  MUST(MPI_Type_size(first, &size));
  CHECK(size == 4, "%d", size);
  MUST(MPI_Type_create_f90_complex(6, 30, &first));
  MUST(MPI_Type_size(first, &size));
  CHECK(size == 8, "%d", size);

  MUST(MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &first));
  CHECK(first == MPI_REAL8);
  MUST(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &first));
  CHECK(first == MPI_INTEGER4);
  MUST(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &first));
  CHECK(first == MPI_COMPLEX16);
  MUST(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &first));
  CHECK(first == MPI_DOUBLE_INT);
  MUST(MPI_Type_get_value_index(MPI_BYTE, MPI_C_BOOL, &first));
  CHECK(first == MPI_DATATYPE_NULL);
}

static void errors_of_arguments() {
  MPI_Datatype type = MPI_DATATYPE_NULL, named = MPI_INT;
  int list[] = {1}, none = 0;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(error_class(MPI_Type_free(&type)) == MPI_ERR_TYPE);
  CHECK(error_class(MPI_Type_free(&named)) == MPI_ERR_TYPE);
  CHECK(error_class(MPI_Type_contiguous(-1, MPI_INT, &type)) != MPI_SUCCESS);
  CHECK(error_class(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &type)) == MPI_ERR_TYPE);
  CHECK(error_class(MPI_Type_get_contents(MPI_INT, 0, 0, 0, list, nullptr, nullptr)) ==
        MPI_ERR_TYPE);
  CHECK(error_class(MPI_Type_create_f90_integer(99, &type)) != MPI_SUCCESS);
  CHECK(error_class(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type)) == MPI_ERR_ARG);
  const int size_of[] = {4}, too_many[] = {5}, start[] = {0};
  if (!on_mpich())  // it makes the type
    CHECK(error_class(MPI_Type_create_subarray(1, size_of, too_many, start, MPI_ORDER_C, MPI_INT,
                                               &type)) == MPI_ERR_ARG);
  const int nothing[] = {0};  // so the first of so many dimensions says enough
  CHECK(error_class(MPI_Type_create_subarray(INT_MAX, nothing, too_many, start, MPI_ORDER_C,
                                             MPI_INT, &type)) != MPI_SUCCESS);
  MUST(MPI_Type_contiguous(3, MPI_INT, &type));
  CHECK(error_class(MPI_Type_get_contents(type, 0, 0, 0, list, nullptr, nullptr)) != MPI_SUCCESS);
  int place = 0;
  CHECK(error_class(MPI_Pack(list, 1, type, &none, 4, &place, MPI_COMM_SELF)) == MPI_ERR_TYPE,
        "an uncommitted type");
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  start(argc, argv);
  bounds();
  contents();
  large_contents();
  derived_children();
  names();
  unnamed();
  errors_of_arguments();
  return finish();
}
