// MPI 5.0 chapter 7.7: attributes of communicators, datatypes and windows, and the deprecated calls
// of MPI 1.
#include "core/object/attribute.h"

#include "api/generated/calls.h"
#include "core/comm/communicator.h"
#include "core/datatype/datatype.h"
#include "core/error/error.h"
#include "core/object/tables.h"
#include "core/object/window.h"

namespace meantime::api {
namespace {

using Holder = Keyval::Holder;

// The ABI's functions take an MPI_Comm, MPI_Datatype or MPI_Win where Keyval's take a void*: all of
// them pointers, which are passed alike.
template <class Function>
Keyval::Copy* as_copy(Function* function) {
  return reinterpret_cast<Keyval::Copy*>(function);
}
template <class Function>
Keyval::Delete* as_delete(Function* function) {
  return reinterpret_cast<Keyval::Delete*>(function);
}

int get(const std::unique_ptr<AttributeTable>& table, Holder holder, int key, void* attribute_val,
        int* flag) {
  void* value = nullptr;
  const int error = core::get_attribute(table, holder, key, &value, flag);
  if (error == MPI_SUCCESS && *flag != 0) {
    *static_cast<void**>(attribute_val) = value;
  }
  return error;
}

/// Predefined datatypes are shared by all ranks of a process, their attributes are the rank's own.
std::unique_ptr<AttributeTable>& attributes_of(Datatype& type) {
  return type.predefined ? core::tables().named_type_attributes[&type] : type.attributes;
}

}  // namespace

// --- Communicators

int Comm_create_keyval(MPI_Comm_copy_attr_function* comm_copy_attr_fn,
                       MPI_Comm_delete_attr_function* comm_delete_attr_fn, int* comm_keyval,
                       void* extra_state) {
  return core::create_keyval(Holder::communicator, as_copy(comm_copy_attr_fn),
                             as_delete(comm_delete_attr_fn), extra_state, comm_keyval);
}

int Comm_free_keyval(int* comm_keyval) {
  return core::free_keyval(Holder::communicator, comm_keyval);
}

int Comm_set_attr(Communicator& comm, int comm_keyval, void* attribute_val) {
  return core::set_attribute(comm.attributes, Holder::communicator, comm.handle(), comm_keyval,
                             attribute_val);
}

int Comm_get_attr(Communicator& comm, int comm_keyval, void* attribute_val, int* flag) {
  return get(comm.attributes, Holder::communicator, comm_keyval, attribute_val, flag);
}

int Comm_delete_attr(Communicator& comm, int comm_keyval) {
  return core::delete_attribute(comm.attributes, Holder::communicator, comm.handle(), comm_keyval);
}

int Keyval_create(MPI_Copy_function* copy_fn, MPI_Delete_function* delete_fn, int* keyval,
                  void* extra_state) {
  return Comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}

int Keyval_free(int* keyval) {
  return Comm_free_keyval(keyval);
}

int Attr_put(Communicator& comm, int keyval, void* attribute_val) {
  return Comm_set_attr(comm, keyval, attribute_val);
}

int Attr_get(Communicator& comm, int keyval, void* attribute_val, int* flag) {
  return Comm_get_attr(comm, keyval, attribute_val, flag);
}

int Attr_delete(Communicator& comm, int keyval) {
  return Comm_delete_attr(comm, keyval);
}

// --- Datatypes

int Type_create_keyval(MPI_Type_copy_attr_function* type_copy_attr_fn,
                       MPI_Type_delete_attr_function* type_delete_attr_fn, int* type_keyval,
                       void* extra_state) {
  return core::create_keyval(Holder::datatype, as_copy(type_copy_attr_fn),
                             as_delete(type_delete_attr_fn), extra_state, type_keyval);
}

int Type_free_keyval(int* type_keyval) {
  return core::free_keyval(Holder::datatype, type_keyval);
}

int Type_set_attr(Datatype& datatype, int type_keyval, void* attribute_val) {
  return core::set_attribute(attributes_of(datatype), Holder::datatype, datatype.handle(),
                             type_keyval, attribute_val);
}

int Type_get_attr(Datatype& datatype, int type_keyval, void* attribute_val, int* flag) {
  return get(attributes_of(datatype), Holder::datatype, type_keyval, attribute_val, flag);
}

int Type_delete_attr(Datatype& datatype, int type_keyval) {
  return core::delete_attribute(attributes_of(datatype), Holder::datatype, datatype.handle(),
                                type_keyval);
}

// --- Windows

int Win_create_keyval(MPI_Win_copy_attr_function* win_copy_attr_fn,
                      MPI_Win_delete_attr_function* win_delete_attr_fn, int* win_keyval,
                      void* extra_state) {
  return core::create_keyval(Holder::window, as_copy(win_copy_attr_fn),
                             as_delete(win_delete_attr_fn), extra_state, win_keyval);
}

int Win_free_keyval(int* win_keyval) {
  return core::free_keyval(Holder::window, win_keyval);
}

int Win_set_attr(Window& win, int win_keyval, void* attribute_val) {
  return core::set_attribute(win.attributes, Holder::window, win.handle(), win_keyval,
                             attribute_val);
}

int Win_get_attr(Window& win, int win_keyval, void* attribute_val, int* flag) {
  bool found = false;
  if (void* value = core::predefined_attribute(win, win_keyval, &found); found) {
    *flag = 1;
    *static_cast<void**>(attribute_val) = value;
    return MPI_SUCCESS;
  }
  return get(win.attributes, Holder::window, win_keyval, attribute_val, flag);
}

int Win_delete_attr(Window& win, int win_keyval) {
  return core::delete_attribute(win.attributes, Holder::window, win.handle(), win_keyval);
}

}  // namespace meantime::api
