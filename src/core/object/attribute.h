// Attributes: words that the user hangs on communicators, datatypes and windows.
//   keyval     a key: the functions that copy and delete its values, and their extra state
//   holder     what an attribute hangs on; its MPI handle goes to the user's functions
// A freed keyval lives on, and its number stays usable, as long as an attribute of it exists.
// Belongs to the rank; the user's functions may call MPI, so tables may change under a running copy
// or delete.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace meantime {

struct Keyval {
  enum class Holder : std::uint8_t { communicator, datatype, window };
  // The ABI's functions differ in the type of the handle alone, and every handle is a pointer.
  using Copy = int(void* handle, int keyval, void* extra_state, void* value, void* copied,
                   int* flag);
  using Delete = int(void* handle, int keyval, void* value, void* extra_state);

  Keyval(int key, Holder holder, Copy* copy, Delete* delete_, void* extra_state)
      : key(key), holder(holder), copy(copy), delete_(delete_), extra_state(extra_state) {}
  Keyval(const Keyval&) = delete;
  ~Keyval();  ///< takes the key out of the rank's table

  int key;
  Holder holder;
  Copy* copy;       ///< as the user gave it: MPI_*_NULL_COPY_FN is 0, MPI_*_DUP_FN is 1
  Delete* delete_;  ///< MPI_*_NULL_DELETE_FN is 0
  void* extra_state;
};

/// The attributes of one object.
struct AttributeTable {
  struct Entry {
    std::shared_ptr<Keyval> keyval;
    void* value;
  };
  std::vector<Entry> entries;  ///< in the order in which they were first set
  bool being_deleted = false;  ///< a delete callback may free the object once more
};

namespace core {

/// Registers a key; `*key` is never 0 (MPI_KEYVAL_INVALID) and no predefined one.
int create_keyval(Keyval::Holder holder, Keyval::Copy* copy, Keyval::Delete* delete_,
                  void* extra_state, int* key);
/// Frees the key and sets it to MPI_KEYVAL_INVALID.
int free_keyval(Keyval::Holder holder, int* key);

// `table` is the place of the holder's table, made when first needed. All return an MPI error
// class or what a user's function returned; MPI_ERR_KEYVAL for a key that is not of this holder.
int set_attribute(std::unique_ptr<AttributeTable>& table, Keyval::Holder holder, void* handle,
                  int key, void* value);
/// `*flag` tells whether it is set; then `*value` is what was set.
int get_attribute(const std::unique_ptr<AttributeTable>& table, Keyval::Holder holder, int key,
                  void** value, int* flag);
int delete_attribute(std::unique_ptr<AttributeTable>& table, Keyval::Holder holder, void* handle,
                     int key);
/// Asks each attribute's copy function, in the order in which they were set; stops at the first
/// that fails. What was copied until then is in `to`, which its owner still has to delete.
int copy_attributes(const std::unique_ptr<AttributeTable>& from, void* from_handle,
                    std::unique_ptr<AttributeTable>& to);
/// Asks each attribute's delete function, last set first (MPI 5.0 7.7.1 and 11.2.4), and empties
/// the table. The attribute whose delete function fails stays, and those set before it.
int delete_attributes(std::unique_ptr<AttributeTable>& table, void* handle);

}  // namespace core
}  // namespace meantime
