#include "core/comm/context.h"

#include <mpi.h>

#include <atomic>
#include <bit>
#include <cstring>
#include <new>

#include "base/clock.h"
#include "core/comm/communicator.h"
#include "core/comm/invitation.h"
#include "core/error/error.h"
#include "core/request/segment_memory.h"
#include "match/engine.h"
#include "net/network.h"
#include "node/collective_area_bytes.h"
#include "node/segment.h"
#include "rank/rank.h"

namespace meantime::core {
namespace {

struct alignas(node::cache_line) Block {
  std::atomic<std::int32_t> members;     ///< ranks that have not left yet
  std::atomic<std::int32_t> unfinished;  ///< … that may still be in a collective
  std::uint32_t number;
  std::uint32_t size;     ///< members at first
  std::int32_t capacity;  ///< ranks that its area is for, 0 = may not have one
  std::atomic<std::uint32_t> next_free;
  std::atomic<node::Link> area;  ///< 0 = not made yet
};
static_assert(sizeof(Block) == node::cache_line);

constexpr node::Link no_memory = ~node::Link{0};  ///< an area that could not be made

/// Which free list a block with an area for `capacity` ranks belongs to; 0: without an area.
int kind_of(int capacity) {
  return std::bit_width(static_cast<unsigned>(capacity)) - 1;
}

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

/// Of the area of a block, whether it has one yet or not.
std::size_t area_bytes_of(const Block& block) {
  return block.capacity == 0 ? 0 : coll::area_bytes(block.capacity);
}

void push(Block* block) {
  const int kind = block->area.load(std::memory_order_relaxed) != 0 ? kind_of(block->capacity) : 0;
  std::atomic<std::uint64_t>& list = node::segment().header().free_contexts[kind];
  std::uint64_t head = list.load(std::memory_order_relaxed);
  do {
    block->next_free.store(static_cast<std::uint32_t>(head & place_mask),
                           std::memory_order_relaxed);
  } while (!list.compare_exchange_weak(head, successor(head, place_of(block)),
                                       std::memory_order_release, std::memory_order_relaxed));
}

Block* pop(int kind) {
  std::atomic<std::uint64_t>& list = node::segment().header().free_contexts[kind];
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
  const node::Link page = self().engine->memory.find(batch_bytes);
  if (page == 0) {
    return nullptr;
  }
  constexpr std::uint32_t count = batch_bytes / sizeof(Block);
  const std::uint32_t first = node::segment().header().contexts.fetch_add(context_step * count);
  Block* blocks = node::segment().at<Block>(page);
  for (std::uint32_t index = count; index-- > 0;) {
    new (&blocks[index]) Block{};
    blocks[index].number = first + context_step * index;
    if (index > 0) {
      push(&blocks[index]);
    }
  }
  return &blocks[0];
}

/// As good as new, after a communicator of `ranks` members of which none is left.
void clear_area(node::Link area, int ranks) {
  std::memset(node::segment().at<char>(area), 0, coll::area_bytes(ranks));
}

/// For a communicator of at most `ranks` members, from the calling rank's pool; 0 when there is no
/// memory, or what is left is for messages and deposits (its collectives then go by messages).
node::Link make_area(int ranks) {
  const std::size_t bytes = coll::area_bytes(ranks);
  const node::Segment& segment = node::segment();
  const std::uint64_t most = segment.most_bytes();
  const std::uint64_t end = segment.header().heap_end.load(std::memory_order_relaxed);
  constexpr std::uint64_t share = 4;  ///< of what is left
  if (end + share * bytes > most) {
    return 0;
  }
  const node::Link area = self().engine->memory.find(bytes);
  if (area != 0) {
    clear_area(area, ranks);
  }
  return area;
}

/// A block of the lists, or a new one; 0: there is no memory.
node::Link take_block(int capacity) {
  Block* block = capacity != 0 ? pop(kind_of(capacity)) : nullptr;
  if (block == nullptr) {
    block = pop(0);
  }
  if (block == nullptr) {
    block = make_blocks();
  }
  return block != nullptr ? node::segment().link(block) : 0;
}

/// A rank that makes and frees communicators while others are far behind would fill the segment, so
/// it waits for them; but only while they come nearer: one may be behind because of a request on a
/// communicator that is freed, and wait for this rank. Of several threads another one may be what
/// they wait for.
class FarBehind {
 public:
  bool are_others() {
    const node::Segment& segment = node::segment();
    constexpr std::uint64_t share = 8;  ///< of what may become of the segment
    const std::uint64_t leaving = segment.header().leaving.load(std::memory_order_relaxed);
    if (self().lock.enabled() || leaving <= segment.most_bytes() / share) {
      return false;
    }
    constexpr std::uint64_t patience_ns = 50'000'000;
    const std::uint64_t now = now_ns();
    if (leaving != leaving_) {
      leaving_ = leaving;
      since_ns_ = now;
    }
    return now - since_ns_ < patience_ns;
  }

 private:
  std::uint64_t leaving_ = 0;
  std::uint64_t since_ns_ = 0;
};

/// Where members may be on several nodes: a number that no node gives twice, and no block, for
/// those of other nodes could not count themselves out of it. The highest bit keeps these apart
/// from those of blocks.
int number_over_nodes(const net::Network& network, int members, Context* context) {
  constexpr std::uint32_t over_nodes = 1u << 31;
  const auto nodes = static_cast<std::uint32_t>(network.nodes());
  const std::uint32_t most = over_nodes / context_step / nodes;
  // Relaxed: only that no two get the same matters.
  const std::uint32_t mine =
      node::segment().header().contexts_over_nodes.fetch_add(1, std::memory_order_relaxed);
  if (mine >= most) {
    node::segment().header().contexts_over_nodes.store(most, std::memory_order_relaxed);
    return fail(MPI_ERR_INTERN,
                "{} communicators were made over several nodes: there are no context numbers left",
                most);
  }
  context->number =
      over_nodes + (mine * nodes + static_cast<std::uint32_t>(network.node())) * context_step;
  context->members = static_cast<std::uint32_t>(members);
  context->block = 0;
  return MPI_SUCCESS;
}

/// Of the area of so many members' collectives; 0: they have none.
int capacity_for(int members) {
  return members > 1 && members <= 1 << (node::context_kinds - 1)
             ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(members)))
             : 0;
}

int acquire_block(const Communicator& parent, int members, int capacity, Context* context) {
  FarBehind far_behind;
  const node::Link place = segment_memory(parent, batch_bytes, [capacity, &far_behind] {
    if (!far_behind.are_others()) {
      return take_block(capacity);
    }
    self().engine->memory.reclaim();  // they may only have to see that nobody reads what they gave
    return node::Link{0};
  });
  if (place == 0) {
    return fail_for_shared_memory("another communicator");
  }
  Block* const block = node::segment().at<Block>(place);
  block->members.store(members, std::memory_order_relaxed);
  block->unfinished.store(members, std::memory_order_relaxed);
  block->size = static_cast<std::uint32_t>(members);
  block->capacity = capacity;
  context->number = block->number;
  context->members = block->size;
  context->block = place;
  return MPI_SUCCESS;
}

}  // namespace

int acquire_context(const Communicator& parent, int members, bool with_collectives,
                    Context* context) {
  if (const net::Network* const network = net::network();
      network != nullptr && !parent.is_on_one_node()) {
    return number_over_nodes(*network, members, context);
  }
  return acquire_block(parent, members, with_collectives ? capacity_for(members) : 0, context);
}

int acquire_context_here(const Communicator& parent, int members, Context* context) {
  if (acquire_block(parent, members, capacity_for(members), context) == MPI_SUCCESS) {
    return MPI_SUCCESS;
  }
  return number_over_nodes(*net::network(), members, context);
}

int share_block(Communicator& comm) {
  if (comm.context_block != 0) {
    return MPI_SUCCESS;
  }
  Context context;
  if (comm.rank != 0) {
    const int error = receive_bytes(&context.block, sizeof context.block, 0, share_tag, comm);
    comm.context_block = context.block;
    return error;
  }
  // Without memory for one it goes on by messages.
  acquire_block(comm, comm.size, capacity_for(comm.size), &context);
  for (int member = 1; member < comm.size; ++member) {
    if (const int error = send_bytes(&context.block, sizeof context.block, member, share_tag, comm);
        error != MPI_SUCCESS) {
      return error;
    }
  }
  comm.context_block = context.block;
  return MPI_SUCCESS;
}

void finish_context(node::Link link) {
  Block* const block = node::segment().at<Block>(link);
  if (block->unfinished.fetch_sub(1, std::memory_order_acq_rel) ==
      static_cast<std::int32_t>(block->size)) {
    node::segment().header().leaving.fetch_add(area_bytes_of(*block), std::memory_order_relaxed);
  }
}

bool all_finished(node::Link link) {
  return node::segment().at<Block>(link)->unfinished.load(std::memory_order_acquire) == 0;
}

void leave_context(node::Link link) {
  Block* block = node::segment().at<Block>(link);
  if (block->members.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  node::segment().header().leaving.fetch_sub(area_bytes_of(*block), std::memory_order_relaxed);
  const node::Link area = block->area.load(std::memory_order_relaxed);
  if (area == no_memory) {
    block->area.store(0, std::memory_order_relaxed);
  } else if (area != 0) {
    clear_area(area, static_cast<int>(block->size));
  }
  push(block);
  if (node::segment().header().wanting.load(std::memory_order_relaxed) != 0) {
    self().engine->memory.ring_who_wants();
  }
}

node::Link collective_area(const Communicator& comm) {
  if (comm.context_block == 0) {
    return comm.collective_area;
  }
  Block* block = node::segment().at<Block>(comm.context_block);
  if (block->capacity == 0) {
    return 0;
  }
  node::Link known = block->area.load(std::memory_order_acquire);
  if (known == 0) {
    const node::Link made = make_area(block->capacity);
    // A member that finds no memory decides so for all: they must go the same way.
    const node::Link wanted = made != 0 ? made : no_memory;
    if (block->area.compare_exchange_strong(known, wanted, std::memory_order_acq_rel)) {
      known = wanted;
    } else if (made != 0) {
      self().engine->pool.release(made, coll::area_bytes(block->capacity));
    }
  }
  return known != no_memory ? known : 0;
}

}  // namespace meantime::core
