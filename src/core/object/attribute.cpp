#include "core/object/attribute.h"

#include <algorithm>
#include <utility>

#include "core/error/callback.h"
#include "core/error/error.h"
#include "core/object/tables.h"

namespace meantime {

Keyval::~Keyval() {
  core::tables().keyvals.erase(key);
}

namespace core {
namespace {

// Below the user's keys lie the standard's predefined ones.
constexpr int first_user_key = 1000;

const int* predefined_value(int key) {
  const Tables& all = tables();
  switch (key) {
    case MPI_TAG_UB:
      return &all.tag_ub;
    case MPI_IO:
      return &all.io;
    case MPI_HOST:
      return &all.host;
    case MPI_WTIME_IS_GLOBAL:
      return &all.wtime_is_global;
    case MPI_APPNUM:
      return &all.appnum;
    case MPI_LASTUSEDCODE:
      return &all.error_codes.last_used;
    case MPI_UNIVERSE_SIZE:
      return &all.universe_size;
    default:
      return nullptr;
  }
}

bool is_predefined_key(int key) {
  return key >= MPI_TAG_UB && key <= MPI_WIN_MODEL;
}

std::shared_ptr<Keyval> find_keyval(Keyval::Holder holder, int key) {
  const auto& keyvals = tables().keyvals;
  const auto place = keyvals.find(key);
  std::shared_ptr<Keyval> keyval = place != keyvals.end() ? place->second.keyval.lock() : nullptr;
  return keyval != nullptr && keyval->holder == holder ? keyval : nullptr;
}

int no_such_key(int key) {
  return key == MPI_KEYVAL_INVALID
             ? fail(MPI_ERR_KEYVAL, "the key is MPI_KEYVAL_INVALID")
             : fail(MPI_ERR_KEYVAL, "there is no key {} for this kind of object", key);
}

std::vector<AttributeTable::Entry>::iterator find_entry(AttributeTable& table, int key) {
  return std::find_if(table.entries.begin(), table.entries.end(),
                      [key](const auto& entry) { return entry.keyval->key == key; });
}

int call_delete(const AttributeTable::Entry& entry, void* handle) {
  const Keyval& keyval = *entry.keyval;
  return keyval.delete_ == nullptr ? MPI_SUCCESS : call_user(MPI_ERR_OTHER, [&] {
    return keyval.delete_(handle, keyval.key, entry.value, keyval.extra_state);
  });
}

}  // namespace

int create_keyval(Keyval::Holder holder, Keyval::Copy* copy, Keyval::Delete* delete_,
                  void* extra_state, int* key) {
  Tables& all = tables();
  *key = first_user_key + all.next_keyval++;
  auto keyval = std::make_shared<Keyval>(*key, holder, copy, delete_, extra_state);
  all.keyvals[*key] = {keyval, keyval};
  return MPI_SUCCESS;
}

int free_keyval(Keyval::Holder holder, int* key) {
  if (is_predefined_key(*key)) {
    return fail(MPI_ERR_KEYVAL, "a predefined key cannot be freed");
  }
  if (find_keyval(holder, *key) == nullptr) {
    return no_such_key(*key);
  }
  // Its end comes after this with the last attribute; with none, at the end of this function.
  const std::shared_ptr<Keyval> last = std::move(tables().keyvals[*key].users);
  *key = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

int set_attribute(std::unique_ptr<AttributeTable>& table, Keyval::Holder holder, void* handle,
                  int key, void* value) {
  if (is_predefined_key(key)) {
    return fail(MPI_ERR_KEYVAL, "a predefined attribute cannot be changed");
  }
  const std::shared_ptr<Keyval> keyval = find_keyval(holder, key);
  if (keyval == nullptr) {
    return no_such_key(key);
  }
  if (table == nullptr) {
    table = std::make_unique<AttributeTable>();
  }
  if (const auto entry = find_entry(*table, key); entry != table->entries.end()) {
    // As if the old one were deleted first (MPI 5.0 7.7.2, MPI_Comm_set_attr).
    if (const int error = call_delete(AttributeTable::Entry(*entry), handle);
        error != MPI_SUCCESS) {
      return error;
    }
  }
  // Looked up again: the user's function may have changed the table.
  if (const auto entry = find_entry(*table, key); entry != table->entries.end()) {
    entry->value = value;
  } else {
    table->entries.push_back({keyval, value});
  }
  return MPI_SUCCESS;
}

int get_attribute(const std::unique_ptr<AttributeTable>& table, Keyval::Holder holder, int key,
                  void** value, int* flag) {
  *flag = 0;
  if (holder == Keyval::Holder::communicator) {
    if (const int* constant = predefined_value(key); constant != nullptr) {
      *value = const_cast<int*>(constant);
      *flag = 1;
      return MPI_SUCCESS;
    }
  }
  if (find_keyval(holder, key) == nullptr) {
    return no_such_key(key);
  }
  if (table != nullptr) {
    if (const auto entry = find_entry(*table, key); entry != table->entries.end()) {
      *value = entry->value;
      *flag = 1;
    }
  }
  return MPI_SUCCESS;
}

int delete_attribute(std::unique_ptr<AttributeTable>& table, Keyval::Holder holder, void* handle,
                     int key) {
  if (is_predefined_key(key)) {
    return fail(MPI_ERR_KEYVAL, "a predefined attribute cannot be deleted");
  }
  if (find_keyval(holder, key) == nullptr) {
    return no_such_key(key);
  }
  if (table == nullptr) {
    return MPI_SUCCESS;
  }
  auto entry = find_entry(*table, key);
  if (entry == table->entries.end()) {
    return MPI_SUCCESS;
  }
  const int error = call_delete(AttributeTable::Entry(*entry), handle);
  if (error == MPI_SUCCESS && (entry = find_entry(*table, key)) != table->entries.end()) {
    table->entries.erase(entry);
  }
  return error;
}

int copy_attributes(const std::unique_ptr<AttributeTable>& from, void* from_handle,
                    std::unique_ptr<AttributeTable>& to) {
  if (from == nullptr || from->entries.empty()) {
    return MPI_SUCCESS;
  }
  // A snapshot, because the user's functions may set and delete attributes.
  const std::vector<AttributeTable::Entry> entries = from->entries;
  for (const auto& [keyval, value] : entries) {
    void* copied = value;
    const auto which = reinterpret_cast<std::uintptr_t>(keyval->copy);
    int wanted = which == reinterpret_cast<std::uintptr_t>(MPI_COMM_DUP_FN) ? 1 : 0;
    if (which > reinterpret_cast<std::uintptr_t>(MPI_COMM_DUP_FN)) {
      const int error = call_user(MPI_ERR_OTHER, [&, keyval = keyval.get(), value = value] {
        return keyval->copy(from_handle, keyval->key, keyval->extra_state, value, &copied, &wanted);
      });
      if (error != MPI_SUCCESS) {
        return error;
      }
    }
    if (wanted != 0) {
      if (to == nullptr) {
        to = std::make_unique<AttributeTable>();
      }
      to->entries.push_back({keyval, copied});
    }
  }
  return MPI_SUCCESS;
}

int delete_attributes(std::unique_ptr<AttributeTable>& table, void* handle) {
  if (table == nullptr) {
    return MPI_SUCCESS;
  }
  if (std::exchange(table->being_deleted, true)) {
    return fail(MPI_ERR_OTHER, "the object is being freed already, by a call that has called this");
  }
  while (!table->entries.empty()) {
    const AttributeTable::Entry entry = table->entries.back();
    if (const int error = call_delete(entry, handle); error != MPI_SUCCESS) {
      table->being_deleted = false;
      return error;
    }
    const auto place = find_entry(*table, entry.keyval->key);
    if (place != table->entries.end()) {
      table->entries.erase(place);
    }
  }
  table->being_deleted = false;
  return MPI_SUCCESS;
}

}  // namespace core
}  // namespace meantime
