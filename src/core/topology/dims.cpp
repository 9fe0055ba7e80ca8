#include <algorithm>

#include "core/error/error.h"
#include "core/topology/topology.h"

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

/// The factors of a number, in descending order, that are as close to each other as can be: with
/// the smallest difference between largest and smallest; of those with the same, the one whose
/// smallest is largest, or the second smallest, and so on.
class Balance {
 public:
  Balance(int number, int count) : divisors_(divisors(number)), count_(count) {
    factors_.assign(count, 1);
    search(number, 0);
  }
  const std::vector<int>& factors() const { return best_; }

 private:
  void search(int number, int place) {
    const int limit = place == 0 ? number : factors_[place - 1];
    if (place == count_ - 1) {
      if (number <= limit) {
        factors_[place] = number;
        keep_if_better();
      }
      return;
    }
    for (const int factor : divisors_) {
      if (factor > limit) {
        break;
      }
      // The factors below this one, none larger, must be able to make up the rest …
      if (number % factor != 0 || !reaches(factor, count_ - place, number)) {
        continue;
      }
      // … and all must be large enough to be better than what is known.
      const long largest = place == 0 ? factor : factors_[0];
      const long least = best_.empty() ? 1 : std::max(1L, largest - spread(best_));
      if (factor < least) {
        continue;
      }
      if (exceeds(least, count_ - place - 1, number / factor)) {
        if (place == 0) {
          break;  // a larger one asks for more still
        }
        continue;
      }
      factors_[place] = factor;
      search(number / factor, place + 1);
    }
  }

  void keep_if_better() {
    if (best_.empty() || spread(factors_) < spread(best_) ||
        (spread(factors_) == spread(best_) &&
         std::lexicographical_compare(best_.rbegin(), best_.rend(), factors_.rbegin(),
                                      factors_.rend()))) {
      best_ = factors_;
    }
  }

  static long spread(const std::vector<int>& factors) { return factors.front() - factors.back(); }

  /// factor^count >= number
  static bool reaches(long factor, int count, long number) {
    long product = 1;
    for (int place = 0; place < count && product < number; ++place) {
      product *= factor;
    }
    return product >= number;
  }
  /// factor^count > number
  static bool exceeds(long factor, int count, long number) {
    long product = 1;
    for (int place = 0; place < count && factor > 1 && product <= number; ++place) {
      product *= factor;
    }
    return product > number;
  }

  std::vector<int> divisors_;
  int count_;
  std::vector<int> factors_;
  std::vector<int> best_;
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
    return MPI_SUCCESS;  // of how many ranks is for MPI_Cart_create to say (MPI 5.0, 8.5.2)
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
