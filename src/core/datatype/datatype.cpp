#include "core/datatype/datatype.h"

#include "core/datatype/construction.h"
#include "core/datatype/layout.h"
#include "core/object/attribute.h"

namespace meantime {

Datatype::Datatype() : Object(Kind::datatype) {}
Datatype::~Datatype() = default;

void destroy(Datatype* type) {
  delete type;
}

namespace {

/// Basic elements in the first `bytes` < type.size of one element; -1 if the last is cut.
MPI_Count elements_in_part(const Datatype& type, MPI_Count bytes) {
  if (bytes == 0) {
    return 0;
  }
  if (type.predefined) {
    const bool value_only =
        type.basic == Basic::pair && bytes == static_cast<MPI_Count>(size_of(type.pair_value));
    return value_only ? 1 : -1;
  }
  const Construction& construction = *type.construction;
  MPI_Count elements = 0;
  MPI_Count stride = 0;
  MPI_Count i = 0;
  if (construction.strided(&stride)) {  // all blocks alike: no need to visit the full ones
    const Block block = construction.block(0);
    const MPI_Count block_bytes = block.length * block.type->size;
    elements = bytes / block_bytes * (block.length * block.type->element_count);
    bytes %= block_bytes;
  } else {
    for (;; ++i) {
      const Block block = construction.block(i);
      const MPI_Count block_bytes = block.length * block.type->size;
      if (bytes < block_bytes) {
        break;
      }
      elements += block.length * block.type->element_count;
      bytes -= block_bytes;
      if (bytes == 0) {
        return elements;
      }
    }
  }
  if (bytes == 0) {
    return elements;
  }
  const Datatype& child = *construction.block(i).type;
  const MPI_Count rest = elements_in_part(child, bytes % child.size);
  return rest < 0 ? -1 : elements + bytes / child.size * child.element_count + rest;
}

/// Bytes of the first `elements` < type.element_count basic elements of one element.
MPI_Count bytes_of_part(const Datatype& type, MPI_Count elements) {
  if (elements == 0) {
    return 0;
  }
  if (type.predefined) {
    return static_cast<MPI_Count>(size_of(type.pair_value));
  }
  const Construction& construction = *type.construction;
  MPI_Count bytes = 0;
  MPI_Count stride = 0;
  MPI_Count i = 0;
  if (construction.strided(&stride)) {
    const Block block = construction.block(0);
    const MPI_Count per_block = block.length * block.type->element_count;
    bytes = elements / per_block * (block.length * block.type->size);
    elements %= per_block;
  } else {
    for (;; ++i) {
      const Block block = construction.block(i);
      const MPI_Count per_block = block.length * block.type->element_count;
      if (elements < per_block) {
        break;
      }
      elements -= per_block;
      bytes += block.length * block.type->size;
      if (elements == 0) {
        return bytes;
      }
    }
  }
  if (elements == 0) {
    return bytes;
  }
  const Datatype& child = *construction.block(i).type;
  return bytes + elements / child.element_count * child.size +
         bytes_of_part(child, elements % child.element_count);
}

}  // namespace

MPI_Count whole_elements(const Datatype& type, MPI_Count bytes) {
  if (type.size == 0) {
    return bytes == 0 ? 0 : MPI_UNDEFINED;
  }
  return bytes % type.size == 0 ? bytes / type.size : MPI_UNDEFINED;
}

MPI_Count basic_elements(const Datatype& type, MPI_Count bytes) {
  if (type.size == 0) {
    return bytes == 0 ? 0 : MPI_UNDEFINED;
  }
  const MPI_Count part = elements_in_part(type, bytes % type.size);
  return part < 0 ? MPI_UNDEFINED : bytes / type.size * type.element_count + part;
}

MPI_Count bytes_of_elements(const Datatype& type, MPI_Count elements) {
  if (type.element_count == 0) {
    return 0;
  }
  return elements / type.element_count * type.size +
         bytes_of_part(type, elements % type.element_count);
}

}  // namespace meantime
