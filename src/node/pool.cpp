#include "node/pool.h"

#include <algorithm>
#include <bit>
#include <new>

namespace meantime::node {
namespace {

constexpr std::size_t page = 4096;

std::size_t in_pages(std::size_t bytes) {
  return (bytes + page - 1) / page * page;
}

}  // namespace

/// The first free piece that is large enough, or its end; else more of the segment.
Link Pool::allocate_large(std::size_t bytes, bool grows) {
  if (bytes > segment().header().limit) {
    return 0;
  }
  bytes = in_pages(bytes);
  for (Link* at = &large_; *at != 0;) {
    auto* piece = segment().at<Piece>(*at);
    if (piece->bytes == bytes) {
      const Link place = *at;
      *at = piece->next;
      return place;
    }
    if (piece->bytes > bytes) {
      piece->bytes -= bytes;
      return *at + piece->bytes;
    }
    at = &piece->next;
  }
  return grows ? segment().grow(bytes) : 0;
}

void Pool::release_large(Link place, std::size_t bytes) {
  bytes = in_pages(bytes);
  Piece* before = nullptr;
  Link* at = &large_;
  while (*at != 0 && *at < place) {
    before = segment().at<Piece>(*at);
    at = &before->next;
  }
  auto* piece = new (segment().at<void>(place)) Piece{*at, bytes};
  if (piece->next == place + bytes) {
    const auto* after = segment().at<Piece>(piece->next);
    piece->bytes += after->bytes;
    piece->next = after->next;
  }
  if (before != nullptr && segment().link(before) + before->bytes == place) {
    before->bytes += piece->bytes;
    before->next = piece->next;
  } else {
    *at = place;
  }
}

Link Pool::allocate(std::size_t bytes) {
  if (bytes > largest_class) {
    return allocate_large(bytes, true);
  }
  const int size_class = std::max(smallest, static_cast<int>(std::bit_width(bytes - 1)));
  if (const Link place = free_[size_class]; place != 0) {
    free_[size_class] = *segment().at<Link>(place);
    return place;
  }
  const std::size_t size = std::size_t{1} << size_class;
  if (chunk_left_ < size) {
    release_chunk();
    const Grown chunk = segment().grow_up_to(std::max(next_chunk_, size), size);
    if (chunk.bytes == 0) {
      return cut_larger(size_class);
    }
    chunk_ = chunk.place;
    chunk_left_ = chunk.bytes;
    next_chunk_ = std::min(next_chunk_ + chunk.bytes, largest_chunk);
  }
  const Link place = chunk_;
  chunk_ += size;
  chunk_left_ -= size;
  return place;
}

/// What is left of the chunk goes to the free lists, largest pieces first.
void Pool::release_chunk() {
  const Link place = chunk_;
  const std::size_t bytes = chunk_left_;
  chunk_ = 0;
  chunk_left_ = 0;
  release_any(place, bytes);
}

/// The segment is full: the smallest piece of those that are larger, its end left free.
Link Pool::cut_larger(int size_class) {
  const std::size_t size = std::size_t{1} << size_class;
  for (int larger = size_class + 1; larger < classes; ++larger) {
    if (const Link place = free_[larger]; place != 0) {
      free_[larger] = *segment().at<Link>(place);
      release_any(place + size, (std::size_t{1} << larger) - size);
      return place;
    }
  }
  const std::size_t bytes = in_pages(size);
  const Link place = allocate_large(bytes, false);
  if (place != 0) {
    release_any(place + size, bytes - size);
  }
  return place;
}

void Pool::release(Link place, std::size_t bytes) {
  joined_ = false;
  if (bytes > largest_class) {
    release_large(place, bytes);
    return;
  }
  const int size_class = std::max(smallest, static_cast<int>(std::bit_width(bytes - 1)));
  *segment().at<Link>(place) = free_[size_class];
  free_[size_class] = place;
}

/// A run of so many cache lines.
void Pool::release_any(Link place, std::size_t bytes) {
  const Link first_page = in_pages(place);
  if (const std::size_t ahead = first_page - place; bytes >= ahead + largest_class + page) {
    const std::size_t pages = (bytes - ahead) / page * page;
    release_any(place, ahead);
    release(first_page, pages);
    release_any(first_page + pages, bytes - ahead - pages);
    return;
  }
  while (bytes >= cache_line) {
    const std::size_t piece = std::min(std::bit_floor(bytes), largest_class);
    release(place, piece);
    place += piece;
    bytes -= piece;
  }
}

std::vector<Grown> Pool::take_all_free() {
  std::vector<Grown> pieces;
  release_chunk();
  for (int size_class = smallest; size_class < classes; ++size_class) {
    while (const Link place = free_[size_class]) {
      free_[size_class] = *segment().at<Link>(place);
      pieces.push_back({place, std::size_t{1} << size_class});
    }
  }
  while (large_ != 0) {
    const auto* piece = segment().at<Piece>(large_);
    pieces.push_back({large_, piece->bytes});
    large_ = piece->next;
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Grown& one, const Grown& other) { return one.place < other.place; });
  std::size_t last = 0;
  for (std::size_t index = 1; index < pieces.size(); ++index) {
    if (pieces[last].place + pieces[last].bytes == pieces[index].place) {
      pieces[last].bytes += pieces[index].bytes;
    } else {
      pieces[++last] = pieces[index];
    }
  }
  pieces.resize(std::min(pieces.size(), last + 1));
  return pieces;
}

bool Pool::join() {
  if (joined_) {
    return false;
  }
  const std::vector<Grown> runs = take_all_free();
  for (const Grown& run : runs) {
    release_any(run.place, run.bytes);
  }
  joined_ = true;
  return !runs.empty();
}

bool Pool::give_up_all() {
  const std::vector<Grown> runs = take_all_free();
  if (runs.empty()) {
    return false;
  }
  Piece* last = nullptr;
  for (const Grown& run : runs) {
    auto* piece = new (segment().at<void>(run.place)) Piece{0, run.bytes};
    if (last != nullptr) {
      last->next = run.place;
    }
    last = piece;
  }
  segment().header().given_up.push(runs.front().place, last->next);
  return true;
}

bool Pool::take_given_up() {
  Link link = segment().header().given_up.take_all();
  const bool any = link != 0;
  while (link != 0) {
    const Piece piece = *segment().at<Piece>(link);
    release_any(link, piece.bytes);
    link = piece.next;
  }
  return any;
}

}  // namespace meantime::node
