// MPI 5.0, 5.2 and 5.3: packing into the user's memory, in our own form or in external32.
#include <cstring>

#include "api/generated/calls.h"
#include "core/comm/communicator.h"
#include "core/datatype/datatype.h"
#include "core/datatype/external32.h"
#include "core/error/error.h"

namespace meantime::api {
namespace {

/// `needed` is negative if the bytes exceed MPI_Count.
int check_space(MPI_Count position, MPI_Count needed, MPI_Count size) {
  if (position < 0 || position > size) {
    return fail(MPI_ERR_ARG, "position {} in a buffer of {} bytes", position, size);
  }
  if (needed < 0 || needed > size - position) {
    return fail(MPI_ERR_ARG, "{} bytes do not lie behind position {} of a buffer of {}", needed,
                position, size);
  }
  return MPI_SUCCESS;
}

MPI_Count packed_size(MPI_Count count, const Datatype& type) {
  MPI_Count bytes = 0;
  return __builtin_mul_overflow(count, type.size, &bytes) ? -1 : bytes;
}

/// Of a call that moves so many bytes between them. `address`: of the elements; NULL is MPI_BOTTOM
/// if the type has addresses in it.
int check_buffers(const void* address, const Datatype& type, const void* packed, MPI_Count bytes) {
  const auto is_none = [](const void* buffer) {
    return buffer == nullptr || buffer == MPI_IN_PLACE || buffer == MPI_BUFFER_AUTOMATIC;
  };
  if (bytes == 0 || (!is_none(packed) &&
                     (!is_none(address) || (address == MPI_BOTTOM && type.holds_addresses())))) {
    return MPI_SUCCESS;
  }
  return fail(MPI_ERR_BUFFER, "a buffer of this call is NULL or a constant, with {} bytes to move",
              bytes);
}

int check_representation(const char* name) {
  return std::strcmp(name, "external32") == 0
             ? MPI_SUCCESS
             : fail(MPI_ERR_ARG, "the data representation \"{}\" is not \"external32\"", name);
}

}  // namespace

int Pack(const void* inbuf, MPI_Count incount, Datatype& datatype, void* outbuf, MPI_Count outsize,
         MPI_Count* position, Communicator&) {
  const MPI_Count bytes = packed_size(incount, datatype);
  int error = check_space(*position, bytes, outsize);
  if (error == MPI_SUCCESS) {
    error = check_buffers(inbuf, datatype, outbuf, bytes);
  }
  if (error == MPI_SUCCESS) {
    *position += static_cast<MPI_Count>(pack(inbuf, incount, datatype, 0,
                                             static_cast<char*>(outbuf) + *position,
                                             static_cast<std::size_t>(bytes)));
  }
  return error;
}

int Unpack(const void* inbuf, MPI_Count insize, MPI_Count* position, void* outbuf,
           MPI_Count outcount, Datatype& datatype, Communicator&) {
  const MPI_Count bytes = packed_size(outcount, datatype);
  int error = check_space(*position, bytes, insize);
  if (error == MPI_SUCCESS) {
    error = check_buffers(outbuf, datatype, inbuf, bytes);
  }
  if (error == MPI_SUCCESS) {
    *position += static_cast<MPI_Count>(unpack(outbuf, outcount, datatype, 0,
                                               static_cast<const char*>(inbuf) + *position,
                                               static_cast<std::size_t>(bytes)));
  }
  return error;
}

int Pack_size(MPI_Count incount, Datatype& datatype, Communicator&, MPI_Count* size) {
  const MPI_Count bytes = packed_size(incount, datatype);
  *size = bytes < 0 ? MPI_UNDEFINED : bytes;
  return MPI_SUCCESS;
}

int Pack_external(const char* datarep, const void* inbuf, MPI_Count incount, Datatype& datatype,
                  void* outbuf, MPI_Count outsize, MPI_Count* position) {
  const MPI_Count bytes = external32_size(datatype, incount);
  int error = check_representation(datarep);
  if (error == MPI_SUCCESS) {
    error = check_space(*position, bytes, outsize);
  }
  if (error == MPI_SUCCESS) {
    error = check_buffers(inbuf, datatype, outbuf, bytes);
  }
  if (error == MPI_SUCCESS) {
    pack_external32(inbuf, incount, datatype, static_cast<char*>(outbuf) + *position);
    *position += bytes;
  }
  return error;
}

int Unpack_external(const char datarep[], const void* inbuf, MPI_Count insize, MPI_Count* position,
                    void* outbuf, MPI_Count outcount, Datatype& datatype) {
  const MPI_Count bytes = external32_size(datatype, outcount);
  int error = check_representation(datarep);
  if (error == MPI_SUCCESS) {
    error = check_space(*position, bytes, insize);
  }
  if (error == MPI_SUCCESS) {
    error = check_buffers(outbuf, datatype, inbuf, bytes);
  }
  if (error == MPI_SUCCESS) {
    unpack_external32(outbuf, outcount, datatype, static_cast<const char*>(inbuf) + *position);
    *position += bytes;
  }
  return error;
}

int Pack_external_size(const char* datarep, MPI_Count incount, Datatype& datatype,
                       MPI_Count* size) {
  const int error = check_representation(datarep);
  if (error == MPI_SUCCESS) {
    *size = external32_size(datatype, incount);
    if (*size < 0) {
      return fail(MPI_ERR_VALUE_TOO_LARGE, "the packed bytes exceed MPI_Count");
    }
  }
  return error;
}

}  // namespace meantime::api
