// MPI 5.0 chapter 10: infos.
#include "core/object/info.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "api/generated/calls.h"
#include "core/error/error.h"
#include "core/object/tables.h"

namespace meantime::api {
namespace {

int check_key(const char* key) {
  const std::size_t length = strnlen(key, MPI_MAX_INFO_KEY);
  return length == 0 ? fail(MPI_ERR_INFO_KEY, "the key is empty")
         : length >= MPI_MAX_INFO_KEY
             ? fail(MPI_ERR_INFO_KEY, "the key has more than {} letters", MPI_MAX_INFO_KEY - 1)
             : MPI_SUCCESS;
}

int check_writable(const Info& info) {
  return info.read_only ? fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed") : MPI_SUCCESS;
}

/// Copies what fits into `room` bytes, closing zero included.
void copy_value(const std::string& value, char* buffer, std::size_t room) {
  const std::size_t copied = std::min(value.size(), room - 1);
  std::memcpy(buffer, value.data(), copied);
  buffer[copied] = '\0';
}

}  // namespace

int Info_create(MPI_Info* info) {
  *info = (new Info)->handle();
  return MPI_SUCCESS;
}

int Info_create_env(int argc, char* argv[], MPI_Info* info) {
  const std::vector<std::string> arguments(argv, argv + (argv != nullptr ? std::max(argc, 0) : 0));
  *info = core::make_environment_info(arguments)->handle();
  return MPI_SUCCESS;
}

int Info_dup(Info& info, MPI_Info* newinfo) {
  *newinfo = core::duplicate(&info)->handle();
  return MPI_SUCCESS;
}

int Info_free(MPI_Info* info) {
  Info* object = resolve(*info);
  if (object == nullptr) {
    return fail(MPI_ERR_INFO, "there is no info to free");
  }
  if (object->constant != MPI_INFO_NULL) {
    return fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be freed");
  }
  drop(object);
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

int Info_set(Info& info, const char* key, const char* value) {
  if (const int error = check_writable(info); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_key(key); error != MPI_SUCCESS) {
    return error;
  }
  if (strnlen(value, MPI_MAX_INFO_VAL) >= MPI_MAX_INFO_VAL) {
    return fail(MPI_ERR_INFO_VALUE, "the value of \"{}\" has more than {} letters", key,
                MPI_MAX_INFO_VAL - 1);
  }
  info.set(key, value);
  return MPI_SUCCESS;
}

int Info_delete(Info& info, const char* key) {
  if (const int error = check_writable(info); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_key(key); error != MPI_SUCCESS) {
    return error;
  }
  return info.remove(key) ? MPI_SUCCESS : fail(MPI_ERR_INFO_NOKEY, "there is no key \"{}\"", key);
}

int Info_get(Info& info, const char* key, int valuelen, char* value, int* flag) {
  if (const int error = check_key(key); error != MPI_SUCCESS) {
    return error;
  }
  if (valuelen < 0) {
    return fail(MPI_ERR_ARG, "the length of the value is {}", valuelen);
  }
  const std::string* found = info.find(key);
  *flag = found != nullptr ? 1 : 0;
  if (found != nullptr) {
    copy_value(*found, value, static_cast<std::size_t>(valuelen) + 1);
  }
  return MPI_SUCCESS;
}

int Info_get_string(Info& info, const char* key, int* buflen, char* value, int* flag) {
  if (const int error = check_key(key); error != MPI_SUCCESS) {
    return error;
  }
  if (*buflen < 0) {
    return fail(MPI_ERR_ARG, "the length of the buffer is {}", *buflen);
  }
  if (value == nullptr && *buflen > 0) {
    return fail(MPI_ERR_ARG, "there is no buffer for the value");
  }
  const std::string* found = info.find(key);
  *flag = found != nullptr ? 1 : 0;
  if (found != nullptr) {
    if (*buflen > 0) {
      copy_value(*found, value, static_cast<std::size_t>(*buflen));
    }
    *buflen = static_cast<int>(found->size()) + 1;
  }
  return MPI_SUCCESS;
}

int Info_get_valuelen(Info& info, const char* key, int* valuelen, int* flag) {
  if (const int error = check_key(key); error != MPI_SUCCESS) {
    return error;
  }
  const std::string* found = info.find(key);
  *flag = found != nullptr ? 1 : 0;
  if (found != nullptr) {
    *valuelen = static_cast<int>(found->size());
  }
  return MPI_SUCCESS;
}

int Info_get_nkeys(Info& info, int* nkeys) {
  *nkeys = static_cast<int>(info.entries.size());
  return MPI_SUCCESS;
}

int Info_get_nthkey(Info& info, int n, char* key) {
  if (n < 0 || n >= static_cast<int>(info.entries.size())) {
    return fail(MPI_ERR_ARG, "there is no key number {} among {}", n, info.entries.size());
  }
  const std::string& name = info.entries[n].first;
  std::memcpy(key, name.c_str(), name.size() + 1);
  return MPI_SUCCESS;
}

}  // namespace meantime::api
