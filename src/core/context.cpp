#include "core/context.h"

#include <mpi.h>

#include <atomic>

#include "coll/area.h"
#include "core/error.h"
#include "node/segment.h"

namespace meantime::core {
namespace {

struct alignas(node::cache_line) Block {
  std::atomic<std::int32_t> members;  ///< ranks that have not left yet
  std::uint32_t number;
  std::uint32_t size;  ///< members at first: what the collective area was made for
  std::atomic<std::uint32_t> next_free;
  node::Link collective_area;
};

constexpr std::size_t batch_bytes = 4096;

// The free list's head holds a block's offset in cache lines below and a count above. The count
// goes up with every change, so a rank that slept between its look at the head and its
// compare-and-swap fails if the same block came back in the meantime.
constexpr std::uint64_t place_mask = 0xffffffff;

Block* block_at(std::uint64_t place) {
  return node::segment().at<Block>(place * node::cache_line);
}
std::uint32_t place_of(Block* block) {
  return static_cast<std::uint32_t>(node::segment().link(block) / node::cache_line);
}
std::uint64_t successor(std::uint64_t head, std::uint64_t place) {
  return (((head >> 32) + 1) << 32) | place;
}

void push(Block* block) {
  std::atomic<std::uint64_t>& list = node::segment().header().free_contexts;
  std::uint64_t head = list.load(std::memory_order_relaxed);
  do {
    block->next_free.store(static_cast<std::uint32_t>(head & place_mask),
                           std::memory_order_relaxed);
  } while (!list.compare_exchange_weak(head, successor(head, place_of(block)),
                                       std::memory_order_release, std::memory_order_relaxed));
}

Block* pop() {
  std::atomic<std::uint64_t>& list = node::segment().header().free_contexts;
  std::uint64_t head = list.load(std::memory_order_acquire);
  while ((head & place_mask) != 0) {
    Block* block = block_at(head & place_mask);
    const std::uint64_t next = block->next_free.load(std::memory_order_relaxed);
    if (list.compare_exchange_weak(head, successor(head, next), std::memory_order_acquire,
                                   std::memory_order_acquire)) {
      return block;
    }
  }
  return nullptr;
}

/// A page full of new blocks; one is returned, the others go on the free list.
Block* make_blocks() {
  const node::Link page = node::segment().grow(batch_bytes);
  if (page == 0) {
    return nullptr;
  }
  constexpr std::uint32_t count = batch_bytes / sizeof(Block);
  const std::uint32_t first = node::segment().header().contexts.fetch_add(2 * count);
  Block* blocks = node::segment().at<Block>(page);
  for (std::uint32_t index = count; index-- > 0;) {
    blocks[index].number = first + 2 * index;
    if (index > 0) {
      push(&blocks[index]);
    }
  }
  return &blocks[0];
}

}  // namespace

int acquire_context(int members, bool with_collectives, Context* context) {
  Block* block = pop();
  if (block == nullptr) {
    block = make_blocks();
  }
  if (block == nullptr) {
    return fail(MPI_ERR_NO_MEM, "no shared memory left for another communicator");
  }
  block->members.store(members, std::memory_order_relaxed);
  block->size = static_cast<std::uint32_t>(members);
  block->collective_area = with_collectives ? coll::make_area(members) : 0;
  context->number = block->number;
  context->members = block->size;
  context->block = node::segment().link(block);
  context->collective_area = block->collective_area;
  return MPI_SUCCESS;
}

void leave_context(node::Link link) {
  if (link == 0) {
    return;
  }
  Block* block = node::segment().at<Block>(link);
  if (block->members.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (block->collective_area != 0) {
    coll::release_area(block->collective_area, static_cast<int>(block->size));
  }
  push(block);
}

}  // namespace meantime::core
