#include <algorithm>
#include <functional>

#include "core/error.h"
#include "core/topology.h"

namespace meantime::core {
namespace {

std::vector<int> divisors(int number) {
  std::vector<int> low;
  std::vector<int> high;
  for (int candidate = 1; static_cast<long>(candidate) * candidate <= number; ++candidate) {
    if (number % candidate == 0) {
      low.push_back(candidate);
      if (candidate != number / candidate) {
        high.push_back(number / candidate);
      }
    }
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

/// Looks for the factors of `number`, in descending order, whose largest is as small as it can be,
/// then whose second, and so on until the smallest: none is further from the others than it must.
class Balance {
 public:
  Balance(int number, int count) : divisors_(divisors(number)), count_(count) {
    factors_.assign(count, 1);
    search(number, 0);
  }
  const std::vector<int>& factors() const { return factors_; }

 private:
  /// Can `number` be split into `count` factors none of which is above `limit`? Divisors ascend, so
  /// the first largest factor that works is the best.
  bool search(int number, int place) {
    const int limit = place == 0 ? number : factors_[place - 1];
    if (place == count_ - 1) {
      factors_[place] = number;
      return number <= limit;
    }
    for (const int factor : divisors_) {
      if (factor > limit) {
        return false;
      }
      if (number % factor != 0 || !reaches(factor, count_ - place, number)) {
        continue;
      }
      factors_[place] = factor;
      if (search(number / factor, place + 1)) {
        return true;
      }
    }
    return false;
  }

  /// factor^count >= number: else the factors below it, being smaller, cannot make up for it.
  static bool reaches(long factor, int count, long number) {
    long product = 1;
    for (int place = 0; place < count && product < number; ++place) {
      product *= factor;
    }
    return product >= number;
  }

  std::vector<int> divisors_;
  int count_;
  std::vector<int> factors_;
};

}  // namespace

int make_dims(int ranks, int count, int dims[]) {
  if (ranks <= 0) {
    return fail(MPI_ERR_ARG, "{} ranks cannot be laid out in a grid", ranks);
  }
  if (count == 0) {
    return MPI_SUCCESS;
  }
  long fixed = 1;
  int open = 0;
  for (int dimension = 0; dimension < count; ++dimension) {
    if (dims[dimension] < 0) {
      return fail(MPI_ERR_DIMS, "dimension {} is {}", dimension, dims[dimension]);
    }
    if (dims[dimension] == 0) {
      ++open;
    } else {
      fixed *= dims[dimension];
      if (fixed > ranks) {
        break;
      }
    }
  }
  if (ranks % fixed != 0) {
    return fail(MPI_ERR_DIMS, "{} ranks are no multiple of the given dimensions' product {}", ranks,
                fixed);
  }
  if (open == 0) {
    return fixed == ranks
               ? MPI_SUCCESS
               : fail(MPI_ERR_DIMS, "the given dimensions make {}, not {} ranks", fixed, ranks);
  }
  const Balance balance(static_cast<int>(ranks / fixed), open);
  auto next = balance.factors().begin();
  for (int dimension = 0; dimension < count; ++dimension) {
    if (dims[dimension] == 0) {
      dims[dimension] = *next++;
    }
  }
  return MPI_SUCCESS;
}

}  // namespace meantime::core
