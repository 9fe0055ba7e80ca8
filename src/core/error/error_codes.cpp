#include "core/error/error_codes.h"

#include "core/error/error.h"
#include "core/error/error_classes.h"
#include "core/object/tables.h"

namespace meantime::core {
namespace {

ErrorCodes::Code* find_users(int code) {
  auto& codes = tables().error_codes.codes;
  const auto place = codes.find(code);
  return place == codes.end() ? nullptr : &place->second;
}

int add(int error_class) {
  ErrorCodes& all = tables().error_codes;
  const int code = ++all.last_used;
  all.codes[code] = {error_class == 0 ? code : error_class, {}};
  return code;
}

/// Only the code added last gives its number back: MPI_LASTUSEDCODE never names one in use.
void forget(int code) {
  ErrorCodes& all = tables().error_codes;
  all.codes.erase(code);
  while (all.last_used > MPI_ERR_LASTCODE && all.codes.count(all.last_used) == 0) {
    --all.last_used;
  }
}

}  // namespace

std::string_view error_name(int code) {
  const ErrorClass* standard = find_error_class(code);
  return standard != nullptr ? standard->name : std::string_view{};
}

std::string_view error_text(int code) {
  if (const ErrorClass* standard = find_error_class(code); standard != nullptr) {
    return standard->text;
  }
  const ErrorCodes::Code* users = find_users(code);
  return users != nullptr ? std::string_view{users->text} : "unknown error code";
}

int error_class(int code) {
  if (find_error_class(code) != nullptr) {
    return code;
  }
  const ErrorCodes::Code* users = find_users(code);
  return users != nullptr ? users->error_class : MPI_ERR_UNKNOWN;
}

bool is_error_code(int code) {
  return find_error_class(code) != nullptr || find_users(code) != nullptr;
}

int add_error_class(int* error_class) {
  *error_class = add(0);
  return MPI_SUCCESS;
}

int add_error_code(int error_class, int* code) {
  const ErrorCodes::Code* users = find_users(error_class);
  if (find_error_class(error_class) == nullptr &&
      (users == nullptr || users->error_class != error_class)) {
    return fail(MPI_ERR_OTHER, "{} is no error class", error_class);
  }
  *code = add(error_class);
  return MPI_SUCCESS;
}

int add_error_string(int code, std::string_view text) {
  ErrorCodes::Code* users = find_users(code);
  if (users == nullptr) {
    return fail(MPI_ERR_ARG, "{} is no error code or class that this program added", code);
  }
  users->text = text.substr(0, MPI_MAX_ERROR_STRING - 1);
  return MPI_SUCCESS;
}

int remove_error_class(int error_class) {
  const ErrorCodes::Code* users = find_users(error_class);
  if (users == nullptr || users->error_class != error_class) {
    return fail(MPI_ERR_OTHER, "{} is no error class that this program added", error_class);
  }
  if (!users->text.empty()) {
    return fail(MPI_ERR_OTHER, "error class {} still has a text", error_class);
  }
  for (const auto& [code, entry] : tables().error_codes.codes) {
    if (entry.error_class == error_class && code != error_class) {
      return fail(MPI_ERR_OTHER, "error code {} still belongs to class {}", code, error_class);
    }
  }
  forget(error_class);
  return MPI_SUCCESS;
}

int remove_error_code(int code) {
  const ErrorCodes::Code* users = find_users(code);
  if (users == nullptr || users->error_class == code) {
    return fail(MPI_ERR_OTHER, "{} is no error code that this program added", code);
  }
  if (!users->text.empty()) {
    return fail(MPI_ERR_OTHER, "error code {} still has a text", code);
  }
  forget(code);
  return MPI_SUCCESS;
}

int remove_error_string(int code) {
  ErrorCodes::Code* users = find_users(code);
  if (users == nullptr || users->text.empty()) {
    return fail(MPI_ERR_OTHER, "{} has no text that this program added", code);
  }
  users->text.clear();
  return MPI_SUCCESS;
}

}  // namespace meantime::core
