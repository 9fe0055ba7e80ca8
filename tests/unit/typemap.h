// The naive reference for datatype tests: a type map written out element by element, next to the
// real datatype made by the same constructors.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "core/datatype/construction.h"
#include "core/datatype/datatype.h"

namespace meantime::test {

struct Drop {
  void operator()(Datatype* type) const { drop(type); }
};
using TypePointer = std::unique_ptr<Datatype, Drop>;

/// MPI 5.0, 5.1: pairs of a displacement and a basic type, and markers of bounds.
struct TypeMap {
  struct Entry {
    MPI_Count displacement;
    MPI_Count size;
  };
  std::vector<Entry> entries;
  std::optional<MPI_Count> lb_marker;
  std::optional<MPI_Count> ub_marker;
  MPI_Count padding = 0;  ///< a struct's

  bool empty() const { return entries.empty() && !lb_marker; }
  MPI_Count true_lb() const {
    MPI_Count result = entries.empty() ? 0 : entries[0].displacement;
    for (const Entry& entry : entries) {
      result = std::min(result, entry.displacement);
    }
    return result;
  }
  MPI_Count true_ub() const {
    MPI_Count result = entries.empty() ? 0 : entries[0].displacement + entries[0].size;
    for (const Entry& entry : entries) {
      result = std::max(result, entry.displacement + entry.size);
    }
    return result;
  }
  MPI_Count lb() const { return lb_marker ? *lb_marker : data_lb; }
  MPI_Count ub() const { return ub_marker ? *ub_marker : data_ub + padding; }
  MPI_Count extent() const { return ub() - lb(); }
  MPI_Count size() const {
    MPI_Count result = 0;
    for (const Entry& entry : entries) {
      result += entry.size;
    }
    return result;
  }
  // Without markers: of the children's bounds, which may have a struct's padding in them.
  MPI_Count data_lb = 0;
  MPI_Count data_ub = 0;
  bool has_data_bounds = false;

  void add(MPI_Count displacement, const TypeMap& child) {
    for (const Entry& entry : child.entries) {
      entries.push_back({entry.displacement + displacement, entry.size});
    }
    if (child.empty()) {
      return;
    }
    const MPI_Count low = displacement + child.lb();
    const MPI_Count high = displacement + child.ub();
    if (child.lb_marker) {
      lb_marker = lb_marker ? std::min(*lb_marker, low) : low;
      ub_marker = ub_marker ? std::max(*ub_marker, high) : high;
    } else {
      data_lb = has_data_bounds ? std::min(data_lb, low) : low;
      data_ub = has_data_bounds ? std::max(data_ub, high) : high;
      has_data_bounds = true;
    }
  }
  void add_block(MPI_Count displacement, MPI_Count length, const TypeMap& child) {
    for (MPI_Count i = 0; i < length; ++i) {
      add(displacement + i * child.extent(), child);
    }
  }
  static TypeMap basic(MPI_Count size) {
    TypeMap map;
    map.entries = {{0, size}};
    map.data_ub = size;
    map.has_data_bounds = true;
    return map;
  }
};

struct Pair {
  TypePointer type;
  TypeMap map;
};

inline TypePointer predefined(MPI_Datatype handle) {
  return TypePointer(resolve(handle));
}

/// Random trees of constructors, small enough to be written out.
class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  MPI_Count number(MPI_Count low, MPI_Count high) {
    return std::uniform_int_distribution<MPI_Count>(low, high)(random_);
  }

  Pair leaf() {
    static const MPI_Datatype basics[] = {MPI_CHAR,   MPI_SHORT,       MPI_INT,
                                          MPI_DOUBLE, MPI_LONG_DOUBLE, MPI_C_FLOAT_COMPLEX};
    const MPI_Datatype handle = basics[number(0, 5)];
    if (number(0, 9) == 0) {
      Pair pair{predefined(MPI_DOUBLE_INT), TypeMap::basic(8)};
      pair.map.entries.push_back({8, 4});
      pair.map.data_ub = 16;
      return pair;
    }
    return {predefined(handle), TypeMap::basic(resolve(handle)->size)};
  }

  Pair tree(int depth) {
    if (depth == 0) {
      return leaf();
    }
    for (;;) {
      Pair made = derived(depth);
      if (made.map.entries.size() <= 3000) {
        return made;
      }
    }
  }

 private:
  Pair derived(int depth) {
    const Pair child = tree(static_cast<int>(number(0, depth - 1)));
    Datatype& old = *child.type;
    const MPI_Count e = child.map.extent();
    Datatype* made = nullptr;
    TypeMap map;
    int error = MPI_SUCCESS;
    const MPI_Count count = number(0, 5);
    const MPI_Count length = number(0, 4);
    std::vector<MPI_Count> lengths;
    std::vector<MPI_Count> displacements;
    for (MPI_Count i = 0, at = number(-3, 3); i < count; ++i) {
      lengths.push_back(number(0, 4));
      displacements.push_back(at);
      at += number(0, 2) == 0 ? number(-9, 9) : lengths.back();  // often adjacent
    }
    std::vector<MPI_Count> bytes;
    for (MPI_Count i = 0; i < count; ++i) {
      bytes.push_back(number(0, 1) == 0 ? displacements[i] * e : number(-100, 100));
    }
    switch (number(0, 10)) {
      case 0:
        error = make_contiguous(count, old, Form::plain, &made);
        map.add_block(0, count, child.map);
        break;
      case 1: {
        const MPI_Count stride = number(-6, 6);
        error = make_vector(count, length, stride, old, Form::plain, &made);
        for (MPI_Count i = 0; i < count; ++i) {
          map.add_block(i * stride * e, length, child.map);
        }
        break;
      }
      case 2: {
        const MPI_Count stride = number(-100, 100);
        error = make_hvector(count, length, stride, old, Form::plain, &made);
        for (MPI_Count i = 0; i < count; ++i) {
          map.add_block(i * stride, length, child.map);
        }
        break;
      }
      case 3:
        error = make_indexed(count, lengths.data(), displacements.data(), old, Form::plain, &made);
        for (MPI_Count i = 0; i < count; ++i) {
          map.add_block(displacements[i] * e, lengths[i], child.map);
        }
        break;
      case 4:
        error = make_hindexed(count, lengths.data(), bytes.data(), old, Form::plain, &made);
        for (MPI_Count i = 0; i < count; ++i) {
          map.add_block(bytes[i], lengths[i], child.map);
        }
        break;
      case 5:
        error = make_indexed_block(count, length, displacements.data(), old, Form::plain, &made);
        for (MPI_Count i = 0; i < count; ++i) {
          map.add_block(displacements[i] * e, length, child.map);
        }
        break;
      case 6:
        error = make_hindexed_block(count, length, bytes.data(), old, Form::plain, &made);
        for (MPI_Count i = 0; i < count; ++i) {
          map.add_block(bytes[i], length, child.map);
        }
        break;
      case 7: {
        const MPI_Count lb = number(-20, 20);
        const MPI_Count extent = number(-20, 60);
        error = make_resized(old, lb, extent, Form::plain, &made);
        map.entries = child.map.entries;
        map.lb_marker = lb;
        map.ub_marker = lb + extent;
        break;
      }
      case 8:
        error = make_dup(old, &made);
        map = child.map;
        break;
      case 9:
        return subarray(child);
      default:
        return structure(depth, lengths, bytes);
    }
    return error == MPI_SUCCESS ? Pair{TypePointer(made), map} : Pair{};
  }

  Pair subarray(const Pair& child) {
    const int dimensions = static_cast<int>(number(1, 3));
    std::vector<MPI_Count> sizes;
    std::vector<MPI_Count> subsizes;
    std::vector<MPI_Count> starts;
    MPI_Count total = 1;
    for (int i = 0; i < dimensions; ++i) {
      sizes.push_back(number(1, 5));
      subsizes.push_back(number(1, sizes.back()));
      starts.push_back(number(0, sizes.back() - subsizes.back()));
      total *= sizes.back();
    }
    const int order = number(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    Datatype* made = nullptr;
    if (make_subarray(dimensions, sizes.data(), subsizes.data(), starts.data(), order, *child.type,
                      Form::plain, &made) != MPI_SUCCESS) {
      return {};
    }
    TypeMap map;
    for (MPI_Count element = 0; element < total; ++element) {
      bool inside = true;
      MPI_Count rest = element;
      for (int step = 0; step < dimensions; ++step) {
        const int i = order == MPI_ORDER_C ? dimensions - 1 - step : step;
        const MPI_Count index = rest % sizes[i];
        rest /= sizes[i];
        inside = inside && index >= starts[i] && index < starts[i] + subsizes[i];
      }
      if (inside) {
        map.add(element * child.map.extent(), child.map);
      }
    }
    map.lb_marker = 0;
    map.ub_marker = total * child.map.extent();
    return {TypePointer(made), map};
  }

  Pair structure(int depth, const std::vector<MPI_Count>& lengths,
                 const std::vector<MPI_Count>& bytes) {
    std::vector<Pair> children;
    std::vector<Datatype*> types;
    TypeMap map;
    std::uint32_t alignment = 1;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      children.push_back(tree(static_cast<int>(number(0, depth - 1))));
      types.push_back(children.back().type.get());
      map.add_block(bytes[i], lengths[i], children[i].map);
      if (lengths[i] > 0 && !children[i].map.empty()) {
        alignment = std::max(alignment, types.back()->alignment);
      }
    }
    if (!map.lb_marker) {
      const MPI_Count extent = map.extent();
      map.padding = (extent + alignment - 1) / alignment * alignment - extent;
    }
    Datatype* made = nullptr;
    const int error = make_struct(static_cast<MPI_Count>(lengths.size()), lengths.data(),
                                  bytes.data(), types.data(), Form::plain, &made);
    return error == MPI_SUCCESS ? Pair{TypePointer(made), map} : Pair{};
  }

  std::mt19937 random_;
};

}  // namespace meantime::test
