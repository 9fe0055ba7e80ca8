#include "match/spilled.h"

#include <cstring>
#include <new>

namespace meantime::match {
namespace {

constexpr std::align_val_t alignment{cache_line};

std::size_t bytes_of_copy(const Message& message) {
  return sizeof(Message) + (message.bytes > tiny_bytes ? message.bytes : 0);
}

}  // namespace

std::size_t Spilled::Hash::operator()(const Envelope& envelope) const {
  const std::uint64_t key =
      (static_cast<std::uint64_t>(static_cast<std::uint32_t>(envelope.source)) << 32) |
      static_cast<std::uint32_t>(envelope.tag);
  return (key + envelope.context * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
}

Spilled::~Spilled() {
  for (const auto& [number, entry] : messages_) {
    if (entry.is_copy) {  // of the others the segment may be gone
      forget(*entry.message);
    }
  }
}

Message* Spilled::make_copy(const Message& message) {
  const std::size_t bytes = bytes_of_copy(message);
  void* const place = bytes <= room_ ? operator new(bytes, alignment, std::nothrow) : nullptr;
  if (place == nullptr) {
    return nullptr;
  }
  room_ -= bytes;
  auto* copy = new (place) Message{};
  copy->envelope() = message;
  copy->kind = ItemKind::eager;
  copy->flags = in_hand | spilled;
  copy->origin = message.origin;
  copy->destination = message.destination;
  copy->bytes = message.bytes;
  return copy;
}

void Spilled::drop(Message& copy) {
  room_ += bytes_of_copy(copy);
  forget(copy);
}

bool Spilled::add(Message& message) {
  Message* kept = &message;
  if (message.kind != ItemKind::eager) {
    staying_.push_back(added_);
  } else if (kept = make_copy(message); kept == nullptr) {
    return false;
  } else {
    std::memcpy(payload_of(*kept), payload_of(message), message.bytes);
  }
  alike_[message].push_back(added_);
  messages_.emplace_hint(messages_.end(), added_++, Entry{kept, kept != &message});
  return true;
}

bool Spilled::copy_one(const std::function<bool(Message&, char*)>& fetch) {
  while (!staying_.empty()) {
    const auto place = messages_.find(staying_.front());
    if (place != messages_.end()) {
      Message& message = *place->second.message;
      Message* const copy = make_copy(message);
      if (copy == nullptr) {
        return false;
      }
      if (fetch(message, payload_of(*copy))) {
        staying_.pop_front();
        if ((message.flags & until_matched) != 0) {
          copy->flags |= owes_notice;
          copy->parked_send = transfer_of(message).sender;
        }
        place->second = {copy, true};
        return true;
      }
      drop(*copy);
    }
    staying_.pop_front();
  }
  return false;
}

Spilled::InOrder::const_iterator Spilled::search(const Envelope& wanted) const {
  if (wanted.source != MPI_ANY_SOURCE && wanted.tag != MPI_ANY_TAG) {
    const auto found = alike_.find(wanted);
    return found == alike_.end() ? messages_.end() : messages_.find(found->second.front());
  }
  auto place = messages_.begin();
  while (place != messages_.end() && !takes(wanted, *place->second.message)) {
    ++place;
  }
  return place;
}

Message* Spilled::find(const Envelope& wanted) const {
  const auto place = search(wanted);
  return place != messages_.end() ? place->second.message : nullptr;
}

Message* Spilled::take(const Envelope& wanted) {
  const auto place = search(wanted);
  if (place == messages_.end()) {
    return nullptr;
  }
  const auto [message, is_copy] = place->second;
  messages_.erase(place);
  // It is the oldest of those alike: what takes one takes all of them.
  const auto found = alike_.find(*message);
  found->second.pop_front();
  if (found->second.empty()) {
    alike_.erase(found);
  }
  if (is_copy) {
    room_ += bytes_of_copy(*message);
  }
  return message;
}

void Spilled::forget(Message& copy) {
  operator delete(&copy, alignment);
}

}  // namespace meantime::match
