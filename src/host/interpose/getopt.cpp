// getopt, getopt_long and getopt_long_only with the rank's optarg, optind, opterr and optopt.
// libc's own keep more than these between two calls, where nobody can get at it, so this is the
// whole of it: POSIX's rules and GNU's (words that are no options are moved behind, "--", optional
// arguments, abbreviated long names, '+' and '-' and ':' in front).
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "host/process/rank_state.h"

namespace meantime::host {
namespace {

class Options {
 public:
  Options(RankState& rank, int count, char** words, const char* shorts, const option* longs,
          int* index, bool long_with_one_dash)
      : state_(rank.getopt),
        count_(count),
        words_(words),
        shorts_(shorts),
        longs_(longs),
        index_(index),
        long_with_one_dash_(long_with_one_dash),
        stderr_(rank.standard_error()),
        argument_(rank.image.data<char*>(Datum::option_argument)),
        next_(rank.image.data<int>(Datum::option_index)),
        errors_(rank.image.data<int>(Datum::option_errors)),
        unknown_(rank.image.data<int>(Datum::option_unknown)) {}

  int next() {
    argument_ = nullptr;
    if (next_ == 0 || !state_.begun) {
      next_ = std::max(next_, 1);
      state_.first_other = state_.last_other = next_;
      state_.place = nullptr;
      state_.begun = true;
    }
    if (*shorts_ == '-' || *shorts_ == '+') {
      order_ = *shorts_++;
    } else if (getenv("POSIXLY_CORRECT") != nullptr) {
      order_ = '+';
    }
    silent_ = *shorts_ == ':';
    if (state_.place == nullptr || *state_.place == '\0') {
      if (const int result = next_word(); result != 0) {
        return result;
      }
      char* const word = words_[next_];
      if (longs_ != nullptr && word[1] == '-') {
        return long_option(word + 2, "--");
      }
      if (longs_ != nullptr && long_with_one_dash_ &&
          (word[2] != '\0' || strchr(shorts_, word[1]) == nullptr)) {
        const int result = long_option(word + 1, "-");
        if (result != not_long) {
          return result;
        }
      }
      state_.place = word + 1;
    }
    return short_option();
  }

 private:
  static constexpr int not_long = -2;

  bool is_option(int word) const { return words_[word][0] == '-' && words_[word][1] != '\0'; }

  /// Puts the words that are no options, seen so far, behind the options seen after them.
  void move_others_behind() {
    std::rotate(words_ + state_.first_other, words_ + state_.last_other, words_ + next_);
    state_.first_other += next_ - state_.last_other;
    state_.last_other = next_;
  }

  /// 0: the next word is an option; else what getopt returns.
  int next_word() {
    state_.last_other = std::min(state_.last_other, next_);
    state_.first_other = std::min(state_.first_other, next_);
    if (order_ == 0) {
      if (state_.first_other != state_.last_other && state_.last_other != next_) {
        move_others_behind();
      } else if (state_.last_other != next_) {
        state_.first_other = next_;
      }
      while (next_ < count_ && !is_option(next_)) {
        ++next_;
      }
      state_.last_other = next_;
    }
    if (next_ != count_ && strcmp(words_[next_], "--") == 0) {
      ++next_;
      if (state_.first_other != state_.last_other && state_.last_other != next_) {
        move_others_behind();
      } else if (state_.first_other == state_.last_other) {
        state_.first_other = next_;
      }
      state_.last_other = count_;
      next_ = count_;
    }
    if (next_ >= count_) {
      if (state_.first_other != state_.last_other) {
        next_ = state_.first_other;
      }
      return -1;
    }
    if (!is_option(next_)) {
      if (order_ == '+') {
        return -1;
      }
      argument_ = words_[next_++];
      return 1;
    }
    return 0;
  }

  bool speaks() const { return errors_ != 0 && !silent_; }

  int long_option(char* name, const char* dashes) {
    const size_t length = strcspn(name, "=");
    const option* found = nullptr;
    bool ambiguous = false;
    for (const option* each = longs_; each->name != nullptr; ++each) {
      if (strncmp(each->name, name, length) != 0) {
        continue;
      }
      if (strlen(each->name) == length) {
        found = each;
        ambiguous = false;
        break;
      }
      if (found == nullptr) {
        found = each;
      } else if (long_with_one_dash_ || found->has_arg != each->has_arg ||
                 found->flag != each->flag || found->val != each->val) {
        ambiguous = true;
      }
    }
    if (found == nullptr && dashes[1] == '\0' && strchr(shorts_, *name) != nullptr) {
      return not_long;
    }
    state_.place = nullptr;
    ++next_;
    if (found == nullptr || ambiguous) {
      if (speaks()) {
        fprintf(stderr_, "%s: %s option '%s%s'\n", words_[0],
                ambiguous ? "ambiguous" : "unrecognized", dashes, name);
      }
      unknown_ = 0;
      return '?';
    }
    if (name[length] == '=') {
      if (found->has_arg == no_argument) {
        if (speaks()) {
          fprintf(stderr_, "%s: option '%s%s' doesn't allow an argument\n", words_[0], dashes,
                  found->name);
        }
        unknown_ = found->val;
        return '?';
      }
      argument_ = name + length + 1;
    } else if (found->has_arg == required_argument) {
      if (next_ >= count_) {
        if (speaks()) {
          fprintf(stderr_, "%s: option '%s%s' requires an argument\n", words_[0], dashes,
                  found->name);
        }
        unknown_ = found->val;
        return silent_ ? ':' : '?';
      }
      argument_ = words_[next_++];
    }
    if (index_ != nullptr) {
      *index_ = static_cast<int>(found - longs_);
    }
    if (found->flag != nullptr) {
      *found->flag = found->val;
      return 0;
    }
    return found->val;
  }

  int short_option() {
    const char letter = *state_.place++;
    const char* const known = letter == ':' || letter == ';' ? nullptr : strchr(shorts_, letter);
    const bool last = *state_.place == '\0';
    if (last) {
      ++next_;
    }
    if (known == nullptr) {
      if (speaks()) {
        fprintf(stderr_, "%s: invalid option -- '%c'\n", words_[0], letter);
      }
      unknown_ = letter;
      return '?';
    }
    if (known[1] != ':') {
      return letter;
    }
    if (!last) {
      argument_ = state_.place;
      ++next_;
    } else if (known[2] != ':') {
      if (next_ >= count_) {
        if (speaks()) {
          fprintf(stderr_, "%s: option requires an argument -- '%c'\n", words_[0], letter);
        }
        unknown_ = letter;
        state_.place = nullptr;
        return silent_ ? ':' : '?';
      }
      argument_ = words_[next_++];
    }
    state_.place = nullptr;
    return letter;
  }

  decltype(RankState::getopt)& state_;
  const int count_;
  char** const words_;
  const char* shorts_;
  const option* const longs_;
  int* const index_;
  const bool long_with_one_dash_;
  FILE* const stderr_;
  char*& argument_;
  int& next_;
  int& errors_;
  int& unknown_;
  char order_ = 0;
  bool silent_ = false;
};

}  // namespace
}  // namespace meantime::host

using namespace meantime::host;

MEANTIME_INTERPOSED int getopt(int count, char* const* words, const char* shorts) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(getopt);
    return real(count, words, shorts);
  }
  return Options(*mine(), count, const_cast<char**>(words), shorts, nullptr, nullptr, false).next();
}
MEANTIME_INTERPOSED int getopt_long(int count, char* const* words, const char* shorts,
                                    const option* longs, int* index) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(getopt_long);
    return real(count, words, shorts, longs, index);
  }
  return Options(*mine(), count, const_cast<char**>(words), shorts, longs, index, false).next();
}
MEANTIME_INTERPOSED int getopt_long_only(int count, char* const* words, const char* shorts,
                                         const option* longs, int* index) noexcept {
  if (mine() == nullptr) {
    MEANTIME_REAL(getopt_long_only);
    return real(count, words, shorts, longs, index);
  }
  return Options(*mine(), count, const_cast<char**>(words), shorts, longs, index, true).next();
}
