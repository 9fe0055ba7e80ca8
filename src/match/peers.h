// What a rank has lying at each other rank, and what waits for it there. Private to the rank, its
// lock held.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "match/credit.h"
#include "match/local.h"

namespace meantime::match {

struct Express;

struct Peer : Credit::Account {
  Express* express = nullptr;
  std::uint32_t express_taken = 0;  ///< as last seen
  std::uint32_t until_express = 0;  ///< short messages so far
  SendList waiting;                 ///< for credit
  SendList offered;                 ///< until they are found to be over: Account::offers of them
  SendList left_behind;             ///< … though nobody waits for that
};

/// By world rank.
class Peers {
 public:
  explicit Peers(int ranks)
      : blocks_((static_cast<std::size_t>(ranks) + peers_a_block - 1) / peers_a_block) {}

  Peer& operator[](int world_rank) {
    const auto index = static_cast<std::size_t>(world_rank);
    std::unique_ptr<Block>& block = blocks_[index / peers_a_block];
    if (block == nullptr) [[unlikely]] {
      block = std::make_unique<Block>();
    }
    return (*block)[index % peers_a_block];
  }
  template <class Function>
  void for_each(Function function) {
    for (const std::unique_ptr<Block>& block : blocks_) {
      if (block != nullptr) {
        std::for_each(block->begin(), block->end(), function);
      }
    }
  }

 private:
  /// Most ranks send to few others, and a word of each for each were 8 MB in a host of a thousand.
  static constexpr std::size_t peers_a_block = 16;
  using Block = std::array<Peer, peers_a_block>;
  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace meantime::match
