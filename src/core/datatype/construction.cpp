#include "core/datatype/construction.h"

#include <algorithm>
#include <limits>
#include <new>

#include "core/datatype/layout.h"
#include "core/error/error.h"

namespace meantime {

namespace {

using Wide = __int128;  // products of two MPI_Counts do not overflow it

bool fits(Wide value) {
  return value >= std::numeric_limits<MPI_Count>::min() &&
         value <= std::numeric_limits<MPI_Count>::max();
}

/// The lowest and highest byte of what was added; markers (explicit bounds) win over data.
class Span {
 public:
  void add(Wide low, Wide high, bool marker) {
    if (marker && !marked_) {
      any_ = false;
      marked_ = true;
    } else if (!marker && marked_) {
      return;
    }
    low_ = any_ ? std::min(low_, low) : low;
    high_ = any_ ? std::max(high_, high) : high;
    any_ = true;
  }
  bool marked() const { return marked_; }
  Wide low() const { return any_ ? low_ : 0; }
  Wide high() const { return any_ ? high_ : 0; }

 private:
  bool any_ = false;
  bool marked_ = false;
  Wide low_ = 0;
  Wide high_ = 0;
};

/// Sums up size, bounds and leaves of a new type from its blocks.
class Summary {
 public:
  /// `repeat` such blocks, `stride` bytes apart.
  void add(const Block& block, MPI_Count repeat, MPI_Count stride) {
    const Datatype& child = *block.type;
    const bool marked = child.explicit_lb || child.explicit_ub;
    if (block.length == 0 || repeat == 0 || (child.element_count == 0 && !marked)) {
      return;
    }
    const Wide elements = Wide(block.length) * repeat;
    size_ += elements * child.size;
    element_count_ += elements * child.element_count;
    alignment_ = std::max(alignment_, child.alignment);
    const Wide row = Wide(block.length - 1) * child.extent;
    const Wide rows = Wide(repeat - 1) * stride;
    const Wide lowest = block.displacement + std::min<Wide>(0, row) + std::min<Wide>(0, rows);
    const Wide highest = block.displacement + std::max<Wide>(0, row) + std::max<Wide>(0, rows);
    bounds_.add(lowest + child.lb, highest + child.lb + child.extent, marked);
    if (child.element_count == 0) {
      return;
    }
    data_.add(lowest + child.true_lb, highest + child.true_lb + child.true_extent, false);
    if (!any_leaf_) {
      leaf_ = child.leaf;
      any_leaf_ = true;
    } else if (leaf_ != child.leaf) {
      leaf_ = nullptr;
    }
  }

  int write(Datatype& type, bool pad) const {
    const Wide low = bounds_.low();
    Wide extent = bounds_.high() - low;
    if (pad && !bounds_.marked()) {
      extent = (extent + alignment_ - 1) / alignment_ * alignment_;
    }
    const Wide true_extent = data_.high() - data_.low();
    for (Wide value :
         {size_, element_count_, low, extent, low + extent, data_.low(), true_extent}) {
      if (!fits(value)) {
        return fail(MPI_ERR_VALUE_TOO_LARGE, "size or bounds of the datatype exceed MPI_Count");
      }
    }
    type.size = static_cast<MPI_Count>(size_);
    type.element_count = static_cast<MPI_Count>(element_count_);
    type.lb = static_cast<MPI_Count>(low);
    type.extent = static_cast<MPI_Count>(extent);
    type.true_lb = static_cast<MPI_Count>(data_.low());
    type.true_extent = static_cast<MPI_Count>(true_extent);
    type.alignment = alignment_;
    type.explicit_lb = type.explicit_ub = bounds_.marked();
    if (leaf_ != nullptr) {
      type.leaf = leaf_;
      type.basic = leaf_->basic;
      type.pair_value = leaf_->pair_value;
      type.pair_index = leaf_->pair_index;
    }
    return MPI_SUCCESS;
  }

 private:
  Wide size_ = 0;
  Wide element_count_ = 0;
  std::uint32_t alignment_ = 1;
  Span bounds_;
  Span data_;
  Datatype* leaf_ = nullptr;
  bool any_leaf_ = false;
};

using Unfinished = std::unique_ptr<Construction>;

int finish(Unfinished construction, Datatype** made) {
  auto type = std::make_unique<Datatype>();
  Summary summary;
  MPI_Count stride = 0;
  if (construction->strided(&stride)) {
    summary.add(construction->block(0), construction->block_count, stride);
  } else {
    for (MPI_Count i = 0; i < construction->block_count; ++i) {
      summary.add(construction->block(i), 1, 0);
    }
  }
  const int error = summary.write(*type, construction->combiner == MPI_COMBINER_STRUCT);
  if (error != MPI_SUCCESS) {
    return error;
  }
  type->construction = std::move(construction);
  *made = type.release();
  return MPI_SUCCESS;
}

Unfinished start(int combiner, Form form, Datatype& old) {
  auto construction = std::make_unique<Construction>(combiner, form);
  construction->types.push_back(hold(old));
  return construction;
}

int check_count(MPI_Count count) {
  return count < 0 ? fail(MPI_ERR_COUNT, "count is {}", count) : MPI_SUCCESS;
}

int check_block_length(MPI_Count length) {
  return length < 0 ? fail(MPI_ERR_COUNT, "block length is {}", length) : MPI_SUCCESS;
}

int check_lists(MPI_Count count, const MPI_Count* block_lengths, const MPI_Count* displacements) {
  if (const int error = check_count(count); error != MPI_SUCCESS) {
    return error;
  }
  if (count > 0 && (block_lengths == nullptr || displacements == nullptr)) {
    return fail(MPI_ERR_ARG, "an array is a null pointer");
  }
  for (MPI_Count i = 0; i < count; ++i) {
    if (const int error = check_block_length(block_lengths[i]); error != MPI_SUCCESS) {
      return error;
    }
  }
  return MPI_SUCCESS;
}

/// Displacements in extents become bytes: they must still fit.
int check_scaled(MPI_Count count, const MPI_Count* displacements, MPI_Count extent) {
  for (MPI_Count i = 0; i < count; ++i) {
    if (!fits(Wide(displacements[i]) * extent)) {
      return fail(MPI_ERR_VALUE_TOO_LARGE,
                  "displacement {} of extents of {} bytes exceeds MPI_Count", displacements[i],
                  extent);
    }
  }
  return MPI_SUCCESS;
}

/// Allocation is the only thing that throws here.
template <class Make>
int guarded(Make make) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for a datatype");
  }
}

int make_strided(int combiner, MPI_Count count, MPI_Count block_length, MPI_Count stride,
                 Datatype& old, Form form, Datatype** made) {
  if (const int error = check_count(count); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_block_length(block_length); error != MPI_SUCCESS) {
    return error;
  }
  return guarded([&] {
    auto construction = start(combiner, form, old);
    construction->arguments = {count, block_length, stride};
    construction->block_count = count;
    return finish(std::move(construction), made);
  });
}

int make_listed(int combiner, MPI_Count count, const MPI_Count* block_lengths,
                const MPI_Count* displacements, Datatype* const* types, std::size_t type_count,
                Form form, Datatype** made) {
  if (const int error = check_lists(count, block_lengths, displacements); error != MPI_SUCCESS) {
    return error;
  }
  return guarded([&] {
    auto construction = std::make_unique<Construction>(combiner, form);
    auto& arguments = construction->arguments;
    arguments.reserve(static_cast<std::size_t>(2 * count + 1));
    arguments.push_back(count);
    arguments.insert(arguments.end(), block_lengths, block_lengths + count);
    arguments.insert(arguments.end(), displacements, displacements + count);
    construction->types.reserve(type_count);
    for (std::size_t i = 0; i < type_count; ++i) {
      construction->types.push_back(hold(*types[i]));
    }
    construction->block_count = count;
    return finish(std::move(construction), made);
  });
}

int make_equal_blocks(int combiner, MPI_Count count, MPI_Count block_length,
                      const MPI_Count* displacements, Datatype& old, Form form, Datatype** made) {
  if (const int error = check_count(count); error != MPI_SUCCESS) {
    return error;
  }
  if (const int error = check_block_length(block_length); error != MPI_SUCCESS) {
    return error;
  }
  if (count > 0 && displacements == nullptr) {
    return fail(MPI_ERR_ARG, "the array of displacements is a null pointer");
  }
  return guarded([&] {
    auto construction = start(combiner, form, old);
    auto& arguments = construction->arguments;
    arguments.reserve(static_cast<std::size_t>(count + 2));
    arguments = {count, block_length};
    arguments.insert(arguments.end(), displacements, displacements + count);
    construction->block_count = count;
    return finish(std::move(construction), made);
  });
}

}  // namespace

Construction::~Construction() {
  for (Datatype* type : types) {
    drop(type);
  }
  if (inner != nullptr) {
    drop(inner);
  }
}

bool Construction::strided(MPI_Count* stride) const {
  switch (combiner) {
    case MPI_COMBINER_VECTOR:
      *stride = arguments[2] * types[0]->extent;
      return true;
    case MPI_COMBINER_HVECTOR:
      *stride = arguments[2];
      return true;
    default:
      return false;
  }
}

Block Construction::block(MPI_Count i) const {
  const MPI_Count* list = arguments.data();
  switch (combiner) {
    case MPI_COMBINER_CONTIGUOUS:
      return {0, list[0], types[0]};
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
      return {0, list[1], types[0]};
    case MPI_COMBINER_INDEXED:
      return {list[1 + block_count + i] * types[0]->extent, list[1 + i], types[0]};
    case MPI_COMBINER_HINDEXED:
      return {list[1 + block_count + i], list[1 + i], types[0]};
    case MPI_COMBINER_INDEXED_BLOCK:
      return {list[2 + i] * types[0]->extent, list[1], types[0]};
    case MPI_COMBINER_HINDEXED_BLOCK:
      return {list[2 + i], list[1], types[0]};
    case MPI_COMBINER_STRUCT:
      return {list[1 + block_count + i], list[1 + i], types[static_cast<std::size_t>(i)]};
    default:
      return {0, 1, inner != nullptr ? inner : types[0]};
  }
}

int make_contiguous(MPI_Count count, Datatype& old, Form form, Datatype** made) {
  if (const int error = check_count(count); error != MPI_SUCCESS) {
    return error;
  }
  return guarded([&] {
    auto construction = start(MPI_COMBINER_CONTIGUOUS, form, old);
    construction->arguments = {count};
    return finish(std::move(construction), made);
  });
}

int make_vector(MPI_Count count, MPI_Count block_length, MPI_Count stride, Datatype& old, Form form,
                Datatype** made) {
  if (const int error = check_scaled(1, &stride, old.extent); error != MPI_SUCCESS) {
    return error;
  }
  return make_strided(MPI_COMBINER_VECTOR, count, block_length, stride, old, form, made);
}

int make_hvector(MPI_Count count, MPI_Count block_length, MPI_Count stride, Datatype& old,
                 Form form, Datatype** made) {
  return make_strided(MPI_COMBINER_HVECTOR, count, block_length, stride, old, form, made);
}

int make_indexed(MPI_Count count, const MPI_Count* block_lengths, const MPI_Count* displacements,
                 Datatype& old, Form form, Datatype** made) {
  if (displacements != nullptr) {
    if (const int error = check_scaled(count, displacements, old.extent); error != MPI_SUCCESS) {
      return error;
    }
  }
  Datatype* const types[] = {&old};
  return make_listed(MPI_COMBINER_INDEXED, count, block_lengths, displacements, types, 1, form,
                     made);
}

int make_hindexed(MPI_Count count, const MPI_Count* block_lengths, const MPI_Count* displacements,
                  Datatype& old, Form form, Datatype** made) {
  Datatype* const types[] = {&old};
  return make_listed(MPI_COMBINER_HINDEXED, count, block_lengths, displacements, types, 1, form,
                     made);
}

int make_indexed_block(MPI_Count count, MPI_Count block_length, const MPI_Count* displacements,
                       Datatype& old, Form form, Datatype** made) {
  if (displacements != nullptr) {
    if (const int error = check_scaled(count, displacements, old.extent); error != MPI_SUCCESS) {
      return error;
    }
  }
  return make_equal_blocks(MPI_COMBINER_INDEXED_BLOCK, count, block_length, displacements, old,
                           form, made);
}

int make_hindexed_block(MPI_Count count, MPI_Count block_length, const MPI_Count* displacements,
                        Datatype& old, Form form, Datatype** made) {
  return make_equal_blocks(MPI_COMBINER_HINDEXED_BLOCK, count, block_length, displacements, old,
                           form, made);
}

int make_struct(MPI_Count count, const MPI_Count* block_lengths, const MPI_Count* displacements,
                Datatype* const* types, Form form, Datatype** made) {
  return make_listed(MPI_COMBINER_STRUCT, count, block_lengths, displacements, types,
                     static_cast<std::size_t>(std::max<MPI_Count>(count, 0)), form, made);
}

int make_resized(Datatype& old, MPI_Count lb, MPI_Count extent, Form form, Datatype** made) {
  if (!fits(Wide(lb) + extent)) {
    return fail(MPI_ERR_VALUE_TOO_LARGE, "the upper bound exceeds MPI_Count");
  }
  return guarded([&] {
    auto construction = start(MPI_COMBINER_RESIZED, form, old);
    construction->arguments = {lb, extent};
    const int error = finish(std::move(construction), made);
    if (error == MPI_SUCCESS) {
      (*made)->lb = lb;
      (*made)->extent = extent;
      (*made)->explicit_lb = (*made)->explicit_ub = true;
    }
    return error;
  });
}

int make_dup(Datatype& old, Datatype** made) {
  return guarded([&] {
    const int error = finish(start(MPI_COMBINER_DUP, Form::plain, old), made);
    if (error != MPI_SUCCESS) {
      return error;
    }
    Datatype& type = **made;
    type.layout = old.layout;
    type.committed = old.committed;
    type.contiguous = old.contiguous;
    return MPI_SUCCESS;
  });
}

int commit(Datatype& type) {
  if (type.committed) {
    return MPI_SUCCESS;
  }
  return guarded([&] {
    type.layout = Layout::of(type);
    type.contiguous = type.size == 0 || (type.layout->root().shape == LayoutNode::Shape::run &&
                                         type.extent == type.size);
    type.committed = true;
    return MPI_SUCCESS;
  });
}

}  // namespace meantime
