#include "match/spilled.h"

#include <cstring>
#include <new>
#include <tuple>

namespace meantime::match {
namespace {

constexpr std::align_val_t alignment{cache_line};
constexpr std::size_t bytes_beside = 192;  ///< of a copy: its places in the order, malloc's own

std::size_t bytes_of_copy(const Message& message) {
  return bytes_beside + sizeof(Message) + (message.bytes > tiny_bytes ? message.bytes : 0);
}

}  // namespace

bool Spilled::Alike::operator<(const Alike& other) const {
  const auto key = [](const Alike& one) {
    return std::tuple(one.envelope.context, one.envelope.source, one.envelope.tag, one.number);
  };
  return key(*this) < key(other);
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
  void* const place =
      bytes <= room_ ? operator new(bytes - bytes_beside, alignment, std::nothrow) : nullptr;
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
    staying_.insert(added_);
  } else if (kept = make_copy(message); kept == nullptr) {
    return false;
  } else {
    std::memcpy(payload_of(*kept), payload_of(message), message.bytes);
  }
  alike_.insert({message, added_});
  messages_.emplace_hint(messages_.end(), added_++, Entry{kept, kept != &message});
  return true;
}

bool Spilled::copy_one(const std::function<bool(Message&, char*)>& fetch) {
  while (!staying_.empty()) {
    Entry& entry = messages_.find(*staying_.begin())->second;
    Message& message = *entry.message;
    Message* const copy = make_copy(message);
    if (copy == nullptr) {
      return false;
    }
    staying_.erase(staying_.begin());
    if (fetch(message, payload_of(*copy))) {
      if ((message.flags & until_matched) != 0) {
        copy->flags |= owes_notice;
        copy->fetched_send = transfer_of(message).sender;
      }
      entry = {copy, true};
      return true;
    }
    drop(*copy);
  }
  return false;
}

Spilled::InOrder::const_iterator Spilled::search(const Envelope& wanted) const {
  if (wanted.source != MPI_ANY_SOURCE && wanted.tag != MPI_ANY_TAG) {
    const auto found = alike_.lower_bound({wanted, 0});
    return found == alike_.end() || found->envelope != wanted ? messages_.end()
                                                              : messages_.find(found->number);
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
  alike_.erase({*message, place->first});
  if (is_copy) {
    room_ += bytes_of_copy(*message);
  } else {
    staying_.erase(place->first);
  }
  messages_.erase(place);
  return message;
}

void Spilled::forget(Message& copy) {
  operator delete(&copy, alignment);
}

}  // namespace meantime::match
