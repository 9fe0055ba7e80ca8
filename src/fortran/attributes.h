// Attributes whose keys or values are Fortran's.
//
// In C an attribute is an address, in Fortran an integer. What Fortran stores becomes a *box*, a
// piece of memory that holds the integer: C, which looks at the same attribute, gets the address of
// that integer, and Fortran, which looks at one that C has stored, gets C's address as an integer
// (MPI 5.0, 19.3.7).
//
// A box goes when its attribute does, if the key was made in Fortran. Under a key made in C it
// stays: C's functions copy and delete it, and they do not know what it is.
#ifndef MEANTIME_FORTRAN_ATTRIBUTES_H
#define MEANTIME_FORTRAN_ATTRIBUTES_H

#include <stdbool.h>

#include "callbacks.h"
#include "fortran.h"

void* meantime_box(MPI_Aint value);
void meantime_free_box(void* box);  // nothing happens to what is no box

// The integer that Fortran sees of an attribute.
MPI_Aint meantime_attribute(int keyval, void* attribute);

// What a key made in Fortran calls; lives until the program ends. `narrow`: MPI_KEYVAL_CREATE's
// functions, whose attributes and extra state are default integers.
struct meantime_keyval {
  struct meantime_keyval* next;
  meantime_procedure *copy, *erase;
  MPI_Aint extra_state;
  bool narrow;
};
struct meantime_keyval* meantime_keyval(meantime_procedure* copy, meantime_procedure* erase,
                                        MPI_Aint extra_state, bool narrow);

MPI_Comm_copy_attr_function meantime_copy_comm_attribute;
MPI_Comm_delete_attr_function meantime_delete_comm_attribute;
MPI_Type_copy_attr_function meantime_copy_type_attribute;
MPI_Type_delete_attr_function meantime_delete_type_attribute;
MPI_Win_copy_attr_function meantime_copy_win_attribute;
MPI_Win_delete_attr_function meantime_delete_win_attribute;

#endif
