// Random datatypes, and buffers of them.
//   unit     the smallest element: a basic type, or a struct of a few of them with gaps
//   layout   units arranged by nested constructors; none lies on another, and copies of a layout
//   side
//            by side do not overlap either. Two layouts of the same unit have matching signatures
//            if they have as many units.
#pragma once

#include "plan.h"

namespace fuzz {

/// Whether datatypes live on after their last use, so that none is freed while a message needs it.
extern bool keep_types;

class Layout {
 public:
  Layout() = default;
  /// Of at most so many units; `unit` chooses the smallest element.
  Layout(Random& random, int unit, int most_units);
  /// A plain type, which is not freed.
  explicit Layout(MPI_Datatype plain) { adopt(plain, 1, false); }
  ~Layout();
  Layout(Layout&& other) noexcept { *this = std::move(other); }
  Layout& operator=(Layout&& other) noexcept;

  MPI_Datatype type = MPI_DATATYPE_NULL;  ///< committed
  long units = 0;
  int unit = 0;   ///< which one it is
  int bytes = 0;  ///< MPI_Type_size
  MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;

 private:
  void adopt(MPI_Datatype made, long of_units, bool mine);
  void arrange(Random& random, int most);
  void replace(MPI_Datatype made, long of_units);
  bool mine_ = false;
};

/// Units from 0 to plain_units - 1 are basic types; of them, the first few have one size
/// everywhere.
inline constexpr int portable_units = 6, plain_units = 17, unit_kinds = 20;

/// Some layouts of one unit, and how many units fit into a whole number of each.
struct Layouts {
  Layouts(Random& random, int kinds, int most_units);
  std::vector<Layout> all;
  long common = 1;  ///< units
  /// Which layout a rank takes.
  const Layout& of(int who) const { return all[static_cast<std::size_t>(who) % all.size()]; }
  /// How many of them make so many times the common number of units.
  int count(int who, long times) const { return static_cast<int>(times * common / of(who).units); }
  /// How many times the common units make about so many bytes.
  long times_of(long bytes) const;
};

/// Memory for `slots` elements of a layout side by side, with a margin around, filled by a seed.
/// Its hash covers the gaps and the margin, too.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Layout& layout, long slots, std::uint64_t seed);
  void fill(std::uint64_t seed);
  void* at = nullptr;  ///< what MPI gets
  std::uint64_t hash() const { return hash_bytes(memory_.data(), memory_.size()); }
  unsigned char* raw() { return memory_.data(); }
  std::size_t raw_bytes() const { return memory_.size(); }

 private:
  std::vector<unsigned char> memory_;
};

}  // namespace fuzz
