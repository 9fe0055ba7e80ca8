// What of a rank's messages to and from other nodes is under way.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "match/ways/remote.h"

namespace meantime::match {

/// Whoever has seen that all sleep, and so their stores, looks at it (deadlock/node_state.h).
inline void add(std::atomic<std::uint64_t>& figure, std::uint64_t more) {
  figure.store(figure.load(std::memory_order_relaxed) + more, std::memory_order_release);
}
inline constexpr std::uint64_t one_less = ~std::uint64_t{0};

/// In place of a payload of no bytes, which UCX cannot offer.
inline char nothing[8] = {};

/// A message that UCX may still have under way.
class Remote::Sending final : public net::Operation {
 public:
  explicit Sending(Remote& remote) : remote_(remote) {}

  int owner_rank() const override { return remote_.ground_.rank.world_rank; }
  void over(const char* problem) override {
    if (problem != nullptr) {
      remote_.lost(static_cast<int>(header.destination), problem);
    }
    --remote_.under_way_;
    ++remote_.events_;
    finish();
    add(remote_.traffic_.under_way, one_less);
    remote_.spare_.emplace_back(this);
  }
  /// Nobody needs its payload any more.
  void finish() {
    if (beyond_credit) {
      std::erase(remote_.beyond_, this);
      remote_.ground_.credit.count_out(*to, credit_for(header.bytes));
    }
    if (offers) {
      --to->offers;
    }
    remote_.unread_ -= std::exchange(is_unread, false) ? 1 : 0;
    end_send();
    packed.reset();
    to = nullptr;
    offers = beyond_credit = false;
  }
  /// Its sender may go on.
  void end_send() {
    if (LocalSend* const over = std::exchange(send, nullptr); over != nullptr) {
      over->done = true;
      remote_.ground_.bells.ring(std::exchange(over->sleep, 0));
    }
  }

  Header header{};
  LocalSend* send = nullptr;  ///< its sender's, until that may go on
  Peer* to = nullptr;
  bool offers = false;
  bool beyond_credit = false;
  bool is_unread = false;          ///< its send is over, and nobody may ever fetch it
  std::uint64_t since_ns = 0;      ///< of one beyond credit
  std::unique_ptr<char[]> packed;  ///< a copy of the payload

 private:
  Remote& remote_;
};

/// A payload on its way to a receive.
class Remote::Fetching final : public net::Operation {
 public:
  Fetching(Remote& remote, Message& message, Receive& receive)
      : remote_(remote), message_(message), receive_(receive) {}

  /// Where it goes: the user's memory if all of it fits there.
  void* place() {
    if (receive_.address != 0 && message_.bytes != 0 && message_.bytes <= receive_.capacity) {
      return reinterpret_cast<void*>(receive_.address);
    }
    bounce_ = std::make_unique_for_overwrite<char[]>(std::max(message_.bytes, sizeof nothing));
    return bounce_.get();
  }
  std::size_t bytes() const { return std::max(message_.bytes, std::uint64_t{1}); }

  int owner_rank() const override { return remote_.ground_.rank.world_rank; }
  void over(const char* problem) override {
    if (problem != nullptr) {
      remote_.lost(static_cast<int>(message_.origin), problem);
    } else if (bounce_ != nullptr && receive_.received.bytes != 0) {
      if (receive_.address != 0) {
        std::memcpy(reinterpret_cast<void*>(receive_.address), bounce_.get(),
                    receive_.received.bytes);
      } else {
        remote_.ground_.typed.unpack(local(receive_), 0, bounce_.get(), receive_.received.bytes);
      }
    }
    remote_.fetched(message_, receive_);
    delete this;
  }

 private:
  Remote& remote_;
  Message& message_;
  Receive& receive_;
  std::unique_ptr<char[]> bounce_;
};

}  // namespace meantime::match
