// Reductions by deposits. The accumulator is the last member's deposit, and members are joined from
// the last to the first (v0 op (v1 op (v2 …))): the same bits whoever executes it.
//   alone    the last member to arrive does all of it before it opens the gate; in a reduce, which
//            only the root needs, the root does it behind the gate: one meeting
//   split    each member does a part of the elements, then all meet again: for long vectors
#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "coll/exposed.h"
#include "coll/meeting.h"
#include "coll/shared.h"
#include "coll/thresholds.h"
#include "core/error/error.h"

namespace meantime::coll::shared {
namespace {

bool one_does_it(const Elements& elements, MPI_Count count, int members) {
  const std::size_t bytes = elements.bytes(count);
  return bytes <= thresholds::round && bytes * members <= thresholds::reduce_alone();
}

/// Element `first` of each member's deposit.
auto deposits(Meeting& meeting, const Elements& elements, MPI_Count first) {
  return [&meeting, offset = elements.bytes(first)](int member) {
    return meeting.data(member) + offset;
  };
}

/// A member's share of `count` elements: neighbours do not write to one cache line.
struct LineShare {
  MPI_Count first;
  MPI_Count count;
};
LineShare line_share_of(int member, int members, MPI_Count count, const Elements& elements) {
  const MPI_Count unit = std::max<MPI_Count>(
      1, static_cast<MPI_Count>(node::cache_line / std::max<std::size_t>(1, elements.stride())));
  const MPI_Count units = (count + unit - 1) / unit;
  const MPI_Count begin = std::min(count, units * member / members * unit);
  const MPI_Count end = std::min(count, units * (member + 1) / members * unit);
  return {begin, end - begin};
}

void put(Meeting& meeting, const Reduction& reduction, const Elements& elements, MPI_Count first,
         MPI_Count count, int reader = all_members) {
  if (char* place = meeting.deposit(elements.bytes(count), reader); place != nullptr && count > 0) {
    elements.put(reduction.input(), first, count, place);
  }
}

/// The members' parts of a reduction that one of them does: deposits, or words if they fit.
class Parts {
 public:
  Parts(const Reduction& reduction, const Elements& elements, Communicator& comm, Code code,
        int root = 0)
      : reduction_(reduction),
        elements_(elements),
        comm_(comm),
        state_(state_of(comm)),
        in_words_(state_.in_words && reduction.count == 1 && elements.bytes(1) <= word_stride),
        meeting_(comm, state_, what(code, root, reduction.agreed()), !in_words_) {}

  Meeting& meeting() { return meeting_; }
  /// False when the node has no memory for it; the others see so too.
  bool put(int reader = all_members) {
    if (in_words_) {
      elements_.put(reduction_.input(), 0, 1, meeting_.word(comm_.rank));
      return true;
    }
    shared::put(meeting_, reduction_, elements_, 0, reduction_.count, reader);
    return !meeting_.failed(comm_.rank);
  }
  /// By whoever does it, when all are there: in the last member's part.
  int join() {
    if (in_words_) {
      elements_.join_chain(meeting_.word(0), word_stride, comm_.size);
      return MPI_SUCCESS;
    }
    if (meeting_.check_deposits() != MPI_SUCCESS) {
      return MPI_ERR_NO_MEM;
    }
    elements_.join(deposits(meeting_, elements_, 0), comm_.size, reduction_.count);
    return MPI_SUCCESS;
  }
  const char* result() {
    return in_words_ ? meeting_.word(comm_.size - 1) : meeting_.data(comm_.size - 1);
  }

 private:
  const Reduction& reduction_;
  const Elements& elements_;
  Communicator& comm_;
  State& state_;
  const bool in_words_;
  Meeting meeting_;
};

/// How a member goes through one round of a long reduction. `take` copies the results out; members
/// that need none do not wait for the second meeting.
template <class Join, class Take>
int split_round(const Reduction& reduction, const Elements& elements, Code code, int root,
                MPI_Count first, MPI_Count count, bool takes, Communicator& comm, Join&& join_part,
                Take&& take) {
  State& state = state_of(comm);
  Meeting meeting(comm, state, what(code, root, reduction.agreed()));
  put(meeting, reduction, elements, first, count);
  int error = meet(meeting);
  error = error == MPI_SUCCESS ? meeting.check_deposits() : error;
  if (error != MPI_SUCCESS) {
    return error;
  }
  const LineShare share = line_share_of(comm.rank, comm.size, count, elements);
  join_part(meeting, share);
  Meeting second(comm, state, what(Code::second_half, root));
  second.keep(meeting);
  go_on(second);
  if (!takes) {
    return MPI_SUCCESS;
  }
  error = second.pass_all();
  if (error == MPI_SUCCESS) {
    take(meeting);
  }
  return error;
}

/// A round of a long reduction by thread ranks of one host: nobody deposits its input, each reads
/// the others' for its share of the elements where they lie, and deposits the result. Behind the
/// second meeting the inputs may be written to again. `refused`: somebody had no memory to put its
/// input together, as all see, and nothing is done.
int exposed_round(const Reduction& reduction, const Elements& elements, Code code, int root,
                  MPI_Count first, MPI_Count count, bool takes, Communicator& comm) {
  State& state = state_of(comm);
  std::unique_ptr<char[]> copy;
  const char* own = elements.in_place_at(reduction.input(), first);
  if (own == nullptr) {
    copy.reset(new (std::nothrow) char[elements.bytes(count)]);
    own = copy.get();
    if (own != nullptr) {
      elements.put(reduction.input(), first, count, copy.get());
    }
  }
  Meeting meeting(comm, state, what(code, root, reduction.agreed()));
  // Where each member's input lies, as in a deposit.
  const auto input_of = [&](int member) -> const char*& {
    return *reinterpret_cast<const char**>(meeting.slot(member).data);
  };
  meeting.deposit(sizeof own);
  input_of(comm.rank) = own;
  if (const int error = meet(meeting); error != MPI_SUCCESS) {
    return error;
  }
  const int last = comm.size - 1;
  for (int member = 0; member < comm.size; ++member) {
    if (input_of(member) == nullptr) {
      return refused;
    }
  }
  const LineShare share = line_share_of(comm.rank, comm.size, count, elements);
  // Read before this member arrives again: then the slots may be written to.
  std::vector<const char*> inputs(comm.size);
  for (int member = 0; member < comm.size; ++member) {
    inputs[member] = input_of(member) + elements.bytes(share.first);
  }
  Meeting second(comm, state, what(Code::second_half, root));
  if (char* sum = second.deposit(elements.bytes(share.count)); sum != nullptr && share.count > 0) {
    std::memcpy(sum, inputs[last], elements.bytes(share.count));
    elements.join(
        [&](int member) { return member == last ? sum : const_cast<char*>(inputs[member]); },
        comm.size, share.count);
  }
  int error = meet(second);
  error = error == MPI_SUCCESS ? second.check_deposits() : error;
  for (int member = 0; member < comm.size && error == MPI_SUCCESS && takes; ++member) {
    const LineShare theirs = line_share_of(member, comm.size, count, elements);
    if (theirs.count > 0) {
      elements.get(second.data(member), reduction.receive, first + theirs.first, theirs.count);
    }
  }
  return error;
}

/// Rounds like that as far as possible: `done` elements. An MPI error class, or `refused`.
int exposed_reduction(const Reduction& reduction, const Elements& elements, Code code, int root,
                      bool takes, Communicator& comm, MPI_Count& done) {
  State& state = state_of(comm);
  const auto round = std::max<MPI_Count>(
      1, static_cast<MPI_Count>(thresholds::exposed_round() / elements.stride()));
  while (state.in_host && state.exposes_inputs && done < reduction.count) {
    const MPI_Count count = std::min(round, reduction.count - done);
    const int error = exposed_round(reduction, elements, code, root, done, count, takes, comm);
    if (error != MPI_SUCCESS) {
      state.exposes_inputs = error != refused;
      return error;
    }
    done += count;
  }
  return MPI_SUCCESS;
}

MPI_Count elements_per_round(const Elements& elements, int members) {
  return std::max<MPI_Count>(1,
                             static_cast<MPI_Count>(thresholds::round_of(members) /
                                                    std::max<std::size_t>(1, elements.stride())));
}

}  // namespace

int reduce(const Reduction& reduction, int root, Communicator& comm) {
  const Elements elements(reduction.type, reduction.op);
  const bool is_root = comm.rank == root;
  const int last = comm.size - 1;
  if (reduction.count == 0) {
    return MPI_SUCCESS;
  }
  if (one_does_it(elements, reduction.count, comm.size)) {
    Parts parts(reduction, elements, comm, Code::reduce, root);
    const bool given = parts.put(root);
    if (!is_root) {
      go_on(parts.meeting());
      return given ? MPI_SUCCESS : fail_for_shared_memory("a reduce");
    }
    int error = meet(parts.meeting());
    error = error == MPI_SUCCESS ? parts.join() : error;
    if (error == MPI_SUCCESS) {
      elements.get(parts.result(), reduction.receive, 0, reduction.count);
    }
    return error;
  }
  MPI_Count first = 0;
  if (const int error =
          exposed_reduction(reduction, elements, Code::reduce_split, root, is_root, comm, first);
      error != MPI_SUCCESS && error != refused) {
    return error;
  }
  const MPI_Count round = elements_per_round(elements, comm.size);
  for (; first < reduction.count; first += round) {
    const MPI_Count count = std::min(round, reduction.count - first);
    const int error = split_round(
        reduction, elements, Code::reduce_split, root, first, count, is_root, comm,
        [&](Meeting& meeting, LineShare share) {
          elements.join(deposits(meeting, elements, share.first), comm.size, share.count);
        },
        [&](Meeting& meeting) {
          elements.get(meeting.data(last), reduction.receive, first, count);
        });
    if (error != MPI_SUCCESS) {
      return error;
    }
  }
  return MPI_SUCCESS;
}

int allreduce(const Reduction& reduction, Communicator& comm) {
  const Elements elements(reduction.type, reduction.op);
  const int last = comm.size - 1;
  if (reduction.count == 0) {
    return MPI_SUCCESS;
  }
  if (one_does_it(elements, reduction.count, comm.size)) {
    Parts parts(reduction, elements, comm, Code::allreduce);
    Meeting& meeting = parts.meeting();
    const std::size_t bytes = elements.bytes(reduction.count);
    parts.put();
    if (meeting.arrive()) {
      int error = meeting.mismatched();
      error = error == 0 ? parts.join() : error;
      if (error == 0 && bytes <= result_bytes) {
        std::memcpy(meeting.result(), parts.result(), bytes);
      }
      meeting.open_all(error);
    }
    const int error = meeting.pass_all();
    if (error == MPI_SUCCESS) {
      elements.get(bytes <= result_bytes ? meeting.result() : parts.result(), reduction.receive, 0,
                   reduction.count);
    }
    return error;
  }
  MPI_Count first = 0;
  if (const int error =
          exposed_reduction(reduction, elements, Code::allreduce_split, 0, true, comm, first);
      error != MPI_SUCCESS && error != refused) {
    return error;
  }
  const MPI_Count round = elements_per_round(elements, comm.size);
  for (; first < reduction.count; first += round) {
    const MPI_Count count = std::min(round, reduction.count - first);
    const int error = split_round(
        reduction, elements, Code::allreduce_split, 0, first, count, true, comm,
        [&](Meeting& meeting, LineShare share) {
          elements.join(deposits(meeting, elements, share.first), comm.size, share.count);
        },
        [&](Meeting& meeting) {
          elements.get(meeting.data(last), reduction.receive, first, count);
        });
    if (error != MPI_SUCCESS) {
      return error;
    }
  }
  return MPI_SUCCESS;
}

int scan(const Reduction& reduction, bool inclusive, Communicator& comm) {
  const Elements elements(reduction.type, reduction.op);
  const Code code = inclusive ? Code::scan : Code::exscan;
  const int from = inclusive ? comm.rank : comm.rank - 1;  // -1: nothing is defined
  if (reduction.count == 0) {
    return MPI_SUCCESS;
  }
  const auto take = [&](Meeting& meeting, MPI_Count first, MPI_Count count) {
    if (from >= 0) {
      elements.get(meeting.data(from), reduction.receive, first, count);
    }
  };
  if (one_does_it(elements, reduction.count, comm.size)) {
    Meeting meeting(comm, state_of(comm), what(code, 0, reduction.agreed()));
    put(meeting, reduction, elements, 0, reduction.count);
    if (meeting.arrive()) {
      int error = meeting.mismatched();
      error = error == 0 && meeting.check_deposits() != MPI_SUCCESS ? MPI_ERR_NO_MEM : error;
      if (error == 0) {
        elements.join_prefixes(deposits(meeting, elements, 0), comm.size, reduction.count);
      }
      meeting.open_all(error);
    }
    const int error = meeting.pass_all();
    if (error == MPI_SUCCESS) {
      take(meeting, 0, reduction.count);
    }
    return error;
  }
  const MPI_Count round = elements_per_round(elements, comm.size);
  for (MPI_Count first = 0; first < reduction.count; first += round) {
    const MPI_Count count = std::min(round, reduction.count - first);
    const int error = split_round(
        reduction, elements, code, 1, first, count, true, comm,
        [&](Meeting& meeting, LineShare share) {
          elements.join_prefixes(deposits(meeting, elements, share.first), comm.size, share.count);
        },
        [&](Meeting& meeting) { take(meeting, first, count); });
    if (error != MPI_SUCCESS) {
      return error;
    }
  }
  return MPI_SUCCESS;
}

int reduce_scatter(const Reduction& reduction, const MemberCounts& counts, Communicator& comm) {
  const Elements elements(reduction.type, reduction.op);
  const int members = comm.size;
  if (reduction.count == 0) {
    return MPI_SUCCESS;
  }
  std::vector<MPI_Count> first_of(members);
  MPI_Count longest = 0;
  MPI_Count sum = 0;
  for (int member = 0; member < members; ++member) {
    first_of[member] = sum;
    sum += counts[member];
    longest = std::max(longest, counts[member]);
  }
  const bool one_round = elements.bytes(sum) <= thresholds::round_for_all_of(members);
  const MPI_Count round =
      one_round
          ? longest
          : std::max<MPI_Count>(1, static_cast<MPI_Count>(thresholds::round_for_all_of(members) /
                                                          (members * elements.stride())));
  std::vector<char> aside;
  if (reduction.send == MPI_IN_PLACE && !one_round) {
    // The results go where the input of later rounds is.
    aside.resize(elements.bytes(sum));
    elements.put(reduction.receive, 0, sum, aside.data());
  }
  const auto put_part = [&](MPI_Count first, MPI_Count count, char* place) {
    if (aside.empty()) {
      elements.put(reduction.input(), first, count, place);
    } else {
      std::memcpy(place, aside.data() + elements.bytes(first), elements.bytes(count));
    }
  };
  for (MPI_Count done = 0; done < longest; done += round) {
    const auto part_of = [&](int member) {
      return std::clamp<MPI_Count>(counts[member] - done, 0, round);
    };
    MPI_Count all = 0;
    MPI_Count own_first = 0;
    for (int member = 0; member < members; ++member) {
      own_first = member == comm.rank ? all : own_first;
      all += part_of(member);
    }
    Meeting meeting(comm, state_of(comm), what(Code::reduce_scatter, 0, reduction.agreed()));
    if (char* place = meeting.deposit(elements.bytes(all))) {
      for (int member = 0; member < members; ++member) {
        if (const MPI_Count part = part_of(member); part > 0) {
          put_part(first_of[member] + done, part, place);
          place += elements.bytes(part);
        }
      }
    }
    int error = meet(meeting);
    error = error == MPI_SUCCESS ? meeting.check_deposits() : error;
    if (error != MPI_SUCCESS) {
      return error;
    }
    if (const MPI_Count own = part_of(comm.rank); own > 0) {
      elements.join(deposits(meeting, elements, own_first), members, own);
      elements.get(meeting.data(members - 1) + elements.bytes(own_first), reduction.receive, done,
                   own);
    }
  }
  return MPI_SUCCESS;
}

}  // namespace meantime::coll::shared
