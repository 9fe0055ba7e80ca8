// What every entry point does around its implementation.
//   entry point      extern "C" PMPI_X, generated (src/api/generated); MPI_X is its weak alias
//   implementation   meantime::api::X, hand-written: gets objects and widened counts
//   shell            the generated code between the two: enter, check, call, report
// The checks return false after they noted what is wrong; the shell then returns `rejected()`. What
// is fast is inline here, whatever formats a text is in entry.cpp. An error goes to the handler of
// the communicator that the call was on, else to that of MPI_COMM_SELF (MPI 5.0, 9.3).
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/lock.h"
#include "core/comm/tag_ranges.h"
#include "core/error/callback.h"
#include "core/object/counts.h"
#include "core/object/handles.h"
#include "core/request/progress.h"
#include "protocol/generated/call_ids.h"
#include "rank/rank.h"
#include "wait/test_calls.h"

namespace meantime::api {

/// When a call is legal, and whether it takes the rank's lock.
enum class Calling : std::uint8_t { while_active, any_time, any_time_unlocked };

/// The caller that a binding of another language announced for this thread's next call
/// (meantime_announce_call_site); NULL in C.
extern constinit thread_local const void* announced_site;

/// Where an argument stands in the C prototype, for messages.
struct ArgumentPosition {
  int position;  ///< from 1
  const char* name;
};

/// Of a program that only looks: how often it does is no measure of its work.
constexpr bool is_test(Call call) {
  switch (call) {
    case Call::Iprobe:
    case Call::Improbe:
    case Call::Test:
    case Call::Testall:
    case Call::Testany:
    case Call::Testsome:
    case Call::Request_get_status:
      return true;
    default:
      return false;
  }
}

class Entry {
 public:
  /// `site`: the return address of the entry point, in the user's program or in a binding that
  /// announced who called it.
  [[gnu::always_inline]] Entry(Call call, const void* site, Calling calling = Calling::while_active)
      : rank_(self()), call_(call) {
    if (announced_site != nullptr) [[unlikely]] {
      site = take_announced_site();
    }
    if (wait::noted_entry.wanted != 0) [[unlikely]] {
      wait::noted_entry.note();  // before the lock: to wait for that is not the program's
    }
    const Phase phase = rank_.phase.load(std::memory_order_relaxed);
    if (phase != Phase::active && phase != Phase::finalizing && calling == Calling::while_active)
        [[unlikely]] {
      check_phase(site);
    }
    locked_ =
        calling == Calling::any_time || (calling == Calling::while_active && rank_.lock.is_taken());
    if (locked_) {
      rank_.lock.lock();
    }
    if (counts_calls() && !is_test(call)) [[unlikely]] {
      count_call();
    }
    outer_call_ = rank_.call.load(std::memory_order_relaxed);
    outer_site_ = rank_.call_site.load(std::memory_order_relaxed);
    rank_.call.store(static_cast<std::uint16_t>(call), std::memory_order_relaxed);
    rank_.call_site.store(site, std::memory_order_relaxed);
  }
  ~Entry() {
    // Not 0 if a user's callback called MPI, or if another thread waits in its call.
    rank_.call.store(outer_call_, std::memory_order_relaxed);
    if (outer_call_ != 0) [[unlikely]] {
      rank_.call_site.store(outer_site_, std::memory_order_relaxed);
    }
    if (locked_) [[unlikely]] {
      leave_locked();
    }
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;

  // --- How the shell ends

  int finish(int code) {
    if (core::thrown.kept != nullptr) [[unlikely]] {
      throw_kept();
    }
    return code == MPI_SUCCESS ? code : report(code);
  }
  /// After a check failed.
  int rejected() { return report(rejection_); }
  /// In a catch block: nothing that the implementation throws leaves the entry point, only what a
  /// user's function threw.
  int caught();
  /// For a call that this version does not have: ends the job, or is an error (settings.h).
  int not_there_yet();
  /// The same for a call on files: there is none but MPI_FILE_NULL, whose handler is called. It
  /// returns by default (MPI 5.0, 14.7).
  int file_call_not_there_yet();

  /// The call is on this communicator, if it is one.
  void about(MPI_Comm handle);

  /// The int form: stores a result that may be too large for it. False if it is.
  bool narrow(ArgumentPosition at, MPI_Count value, int* result);
  static void narrow_or_undefined(MPI_Count value, int* result) {
    *result = value == static_cast<int>(value) ? static_cast<int>(value) : MPI_UNDEFINED;
  }

  // --- Handles

  bool communicator(ArgumentPosition at, MPI_Comm handle, Communicator*& object) {
    object = resolve(handle);
    if (object == nullptr) [[unlikely]] {
      return bad_handle(MPI_ERR_COMM, at, handle, handle == MPI_COMM_NULL);
    }
    if (on_ == nullptr) {
      on_ = object;
    }
    return true;
  }
  bool intracommunicator(ArgumentPosition at, MPI_Comm handle, Communicator*& object) {
    return communicator(at, handle, object) &&
           (!object->is_inter() || bad_communicator_kind(at, true));
  }
  bool intercommunicator(ArgumentPosition at, MPI_Comm handle, Communicator*& object) {
    return communicator(at, handle, object) &&
           (object->is_inter() || bad_communicator_kind(at, false));
  }
  bool type(ArgumentPosition at, MPI_Datatype handle, Datatype*& object) {
    object = resolve(handle);
    return keep(handle, object) ||
           bad_handle(MPI_ERR_TYPE, at, handle, handle == MPI_DATATYPE_NULL);
  }
  bool committed_type(ArgumentPosition at, MPI_Datatype handle, Datatype*& object) {
    return type(at, handle, object) && (object->committed || uncommitted(at));
  }
  /// Of that many elements; of none, it may be MPI_DATATYPE_NULL.
  bool type_of(MPI_Count count, ArgumentPosition at, MPI_Datatype handle, Datatype*& object) {
    object = resolve(handle);
    return (keep(handle, object) && object->committed) || no_type_of(count, at, handle, object);
  }
  bool types(ArgumentPosition at, const MPI_Datatype* handles, MPI_Count count);
  /// Those of Alltoallw: a type is significant where its count is not 0.
  bool committed_types(ArgumentPosition at, const MPI_Datatype* handles, Counts counts,
                       MPI_Count count);
  bool op(ArgumentPosition at, MPI_Op handle, Op*& object) {
    object = resolve(handle);
    return keep(handle, object) || bad_handle(MPI_ERR_OP, at, handle, handle == MPI_OP_NULL);
  }
  bool group(ArgumentPosition at, MPI_Group handle, Group*& object) {
    object = resolve(handle);
    return keep(handle, object) || bad_handle(MPI_ERR_GROUP, at, handle, handle == MPI_GROUP_NULL);
  }
  bool info(ArgumentPosition at, MPI_Info handle, Info*& object) {
    object = resolve(handle);
    return keep(handle, object) || bad_handle(MPI_ERR_INFO, at, handle, handle == MPI_INFO_NULL);
  }
  bool info_or_null(ArgumentPosition at, MPI_Info handle, Info*& object) {
    object = nullptr;
    return handle == MPI_INFO_NULL || info(at, handle, object);
  }
  bool errhandler(ArgumentPosition at, MPI_Errhandler handle, Errhandler*& object) {
    object = resolve(handle);
    return keep(handle, object) ||
           bad_handle(MPI_ERR_ERRHANDLER, at, handle, handle == MPI_ERRHANDLER_NULL);
  }
  /// Of what the call makes: until it is made, it takes the call's own errors.
  bool errhandler_of_result(ArgumentPosition at, MPI_Errhandler handle, Errhandler*& object) {
    if (!errhandler(at, handle, object)) {
      return false;
    }
    on_result_ = object;
    return true;
  }
  bool session(ArgumentPosition at, MPI_Session handle, Session*& object) {
    object = resolve(handle);
    on_session_ = object;
    return object != nullptr || bad_handle(MPI_ERR_SESSION, at, handle, handle == MPI_SESSION_NULL);
  }
  bool window(ArgumentPosition at, MPI_Win handle, Window*& object) {
    object = resolve(handle);
    on_window_ = object;
    return object != nullptr || bad_handle(MPI_ERR_WIN, at, handle, handle == MPI_WIN_NULL);
  }
  bool request(ArgumentPosition at, MPI_Request handle, Request*& object) {
    object = resolve(handle);
    return object != nullptr || bad_handle(MPI_ERR_REQUEST, at, handle, handle == MPI_REQUEST_NULL);
  }
  bool request_or_null(ArgumentPosition at, MPI_Request handle) {
    return handle == MPI_REQUEST_NULL || resolve(handle) != nullptr ||
           bad_handle(MPI_ERR_REQUEST, at, handle, false);
  }
  bool requests(ArgumentPosition at, const MPI_Request* handles, MPI_Count count,
                bool null_allowed);
  /// What MPI_Mrecv takes. Whether it is a live message nobody checks.
  bool message(ArgumentPosition at, MPI_Message handle) {
    return handle != MPI_MESSAGE_NULL || bad_handle(MPI_ERR_REQUEST, at, handle, true);
  }

  // --- Ranks and tags

  bool destination(ArgumentPosition at, int rank, const Communicator& comm) {
    return static_cast<unsigned>(rank) < static_cast<unsigned>(comm.peers()) ||
           rank == MPI_PROC_NULL || bad_rank(MPI_ERR_RANK, at, rank, comm, comm.peers());
  }
  bool source(ArgumentPosition at, int rank, const Communicator& comm) {
    return rank == MPI_ANY_SOURCE || destination(at, rank, comm);
  }
  bool member(ArgumentPosition at, int rank, const Communicator& comm) {
    return static_cast<unsigned>(rank) < static_cast<unsigned>(comm.size) ||
           bad_rank(MPI_ERR_RANK, at, rank, comm, comm.size);
  }
  bool root(ArgumentPosition at, int rank, const Communicator& comm) {
    return static_cast<unsigned>(rank) < static_cast<unsigned>(comm.peers()) ||
           (comm.is_inter() && (rank == MPI_ROOT || rank == MPI_PROC_NULL)) ||
           bad_rank(MPI_ERR_ROOT, at, rank, comm, comm.peers());
  }
  bool send_tag(ArgumentPosition at, int tag) { return is_tag(tag) || bad_tag(at, tag); }
  bool receive_tag(ArgumentPosition at, int tag) {
    return is_tag(tag) || tag == MPI_ANY_TAG || bad_tag(at, tag);
  }

  // --- Numbers, buffers, pointers

  bool not_negative(int error_class, ArgumentPosition at, MPI_Count value) {
    return value >= 0 || negative(error_class, at, value);
  }
  bool counts(ArgumentPosition at, Counts values, MPI_Count count);
  /// That many elements of the type have no more bytes than an MPI_Count can say. What is beyond
  /// would wrap around and look like a small message.
  bool countable(ArgumentPosition at, MPI_Count count, const Datatype& type) {
    MPI_Count bytes;
    return !__builtin_mul_overflow(count, type.size, &bytes) || uncountable(at, count, type);
  }
  bool countable(ArgumentPosition at, Counts values, MPI_Count count, const Datatype& type);
  bool countable(ArgumentPosition at, Counts values, MPI_Count count, const MPI_Datatype* types);
  /// MPI_BOTTOM, which is NULL, needs a datatype with addresses in it; MPI_IN_PLACE and
  /// MPI_BUFFER_AUTOMATIC are no buffers.
  bool buffer(ArgumentPosition at, const void* address, MPI_Count count, MPI_Datatype type) {
    return reinterpret_cast<std::uintptr_t>(address) > 2 ||
           special_buffer(at, address, count, type);
  }
  /// The same for an array of counts: the buffer matters if one of them is not 0.
  bool buffer_of(ArgumentPosition at, const void* address, Counts counts, MPI_Count count,
                 MPI_Datatype type) {
    return reinterpret_cast<std::uintptr_t>(address) > 2 ||
           special_buffer(at, address, any(counts, count) ? 1 : 0, type);
  }
  bool buffer_of(ArgumentPosition at, const void* address, Counts counts, MPI_Count count,
                 const MPI_Datatype* types);
  bool displacements(ArgumentPosition at, Counts values, Counts counts, MPI_Count count) {
    return values || !any(counts, count) || missing(MPI_ERR_ARG, at);
  }
  bool distinct(const void* send_buffer, const void* receive_buffer) {
    return send_buffer != receive_buffer || send_buffer == MPI_BOTTOM || aliased();
  }
  /// Where the block at this displacement, in extents, begins.
  static const void* block(const void* buffer, MPI_Count displacement, const Datatype& type) {
    return static_cast<const char*>(buffer) + displacement * type.extent;
  }
  /// Whether any of the first so many is not 0.
  static bool any(Counts values, MPI_Count count);
  bool given(ArgumentPosition at, const void* pointer, int error_class = MPI_ERR_ARG) {
    return pointer != nullptr || missing(error_class, at);
  }
  bool array(ArgumentPosition at, const void* pointer, MPI_Count count) {
    return pointer != nullptr || count <= 0 || missing(MPI_ERR_ARG, at);
  }

  // --- Which arguments of a collective are significant (MPI 5.0, 6.2.3)

  static bool is_root(const Communicator& comm, int root) { return comm.is_root(root); }
  static bool takes_part(const Communicator& comm, int root) { return comm.takes_part(root); }
  /// Between two groups nothing is in place: there it is no buffer.
  static bool not_in_place(const Communicator& comm, const void* send_buffer) {
    return send_buffer != MPI_IN_PLACE || comm.is_inter();
  }
  static bool gives_to_root(const Communicator& comm, int root, const void* send_buffer) {
    return comm.is_inter() ? root >= 0 : root != comm.rank || send_buffer != MPI_IN_PLACE;
  }
  static bool takes_from_root(const Communicator& comm, int root, const void* receive_buffer) {
    return gives_to_root(comm, root, receive_buffer);
  }
  /// Stands for the type of an argument that is not significant.
  static Datatype* unused_type() { return resolve(MPI_BYTE); }

 private:
  static const void* take_announced_site();
  int report(int code);
  [[noreturn]] void throw_kept();
  /// A thread of a thread rank may ask some things.
  void check_phase(const void* site);
  void count_call();
  [[noreturn]] void end_of_program(const void* site);
  static bool is_tag(int tag) {
    return static_cast<unsigned>(tag) <= static_cast<unsigned>(core::highest_user_tag);
  }

  /// While this call waits, the rank's other threads may free what it was given: so it is kept
  /// until the call's end. False of nullptr.
  template <class Handle, class T>
  bool keep(Handle handle, T* object) {
    if (locked_ && object != nullptr && !is_predefined(handle)) {
      kept_[kept_count_++] = hold(*object);
    }
    return object != nullptr;
  }
  void leave_locked() MEANTIME_RELEASE(rank_.lock);

  bool bad_handle(int error_class, ArgumentPosition at, const void* handle, bool is_null);
  bool bad_communicator_kind(ArgumentPosition at, bool wants_intra);
  bool uncommitted(ArgumentPosition at);
  bool no_type_of(MPI_Count count, ArgumentPosition at, MPI_Datatype handle, Datatype*& object);
  bool bad_rank(int error_class, ArgumentPosition at, int rank, const Communicator& comm,
                int limit);
  bool bad_tag(ArgumentPosition at, int tag);
  bool negative(int error_class, ArgumentPosition at, MPI_Count value);
  bool uncountable(ArgumentPosition at, MPI_Count value, const Datatype& type);
  bool special_buffer(ArgumentPosition at, const void* address, MPI_Count count, MPI_Datatype type);
  bool aliased();
  bool missing(int error_class, ArgumentPosition at);
  bool reject(int error_class);

  Rank& rank_;
  Communicator* on_ = nullptr;  ///< the first communicator argument
  Session* on_session_ = nullptr;
  Window* on_window_ = nullptr;
  Errhandler* on_result_ = nullptr;
  Call call_;
  std::uint16_t outer_call_;
  const void* outer_site_;
  bool locked_;
  int rejection_ = MPI_SUCCESS;
  int kept_count_ = 0;
  std::array<Object*, 4> kept_;                   ///< no call has more of them, but in arrays
  std::vector<Datatype*>* kept_types_ = nullptr;  ///< of its arrays; owned
};

}  // namespace meantime::api
