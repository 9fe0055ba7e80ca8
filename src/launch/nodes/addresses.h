// What is on a board of addresses, on its way to other nodes' boards.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "net/board.h"

namespace meantime::launch {

/// Of the ranks that `wanted` says; those that are not posted yet are left out.
std::string packed_addresses(const net::Board& board, const std::function<bool(int rank)>& wanted);

/// Posts what another board has. Empty, or one line why not.
std::string post_packed(std::string_view packed, net::Board& board);

/// Whether all those are there.
bool are_posted(const net::Board& board, const std::function<bool(int rank)>& wanted);

}  // namespace meantime::launch
