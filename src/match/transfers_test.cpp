// Transfers from which the permission for cross-memory attach is taken away. One thread plays both
// ranks, so that it is known who does what when.
#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

#include "match/engine.h"
#include "match/items.h"
#include "node/cross_memory.h"

namespace meantime::match {
namespace {

constexpr std::uint32_t context = 2;
constexpr std::size_t in_pieces = 50'000;  ///< bytes: fetched by one copy
constexpr std::size_t shared = 400'000;    ///< in fragments, by both sides

// Read once a process: the two trials, one copy and one fragment may be done.
const bool fault_set = setenv("MEANTIME_FAULT_CMA_AFTER", "4", 1) == 0;

struct InPieces : LocalReceive {
  std::vector<char> data = std::vector<char>(in_pieces);
  std::function<void()> meanwhile;
};

const Typed typed{
    [](const LocalSend& send, std::size_t offset, void* to, std::size_t bytes) {
      std::memcpy(to, send.contiguous + offset, bytes);
    },
    [](const LocalReceive& receive, std::size_t offset, const void* from, std::size_t bytes) {
      auto& pieces = const_cast<InPieces&>(static_cast<const InPieces&>(receive));
      std::memcpy(pieces.data.data() + offset, from, bytes);
      pieces.meanwhile();
    }};

/// A process whose memory is ours, but that is not us: another thread of this process.
class OtherProcess {
 public:
  OtherProcess() { started_.wait(); }
  ~OtherProcess() {
    end_.count_down();
    thread_.join();
  }
  pid_t id() const { return id_; }

 private:
  pid_t id_ = 0;
  std::latch started_{1};
  std::latch end_{1};
  std::thread thread_{[this] {
    id_ = gettid();
    started_.count_down();
    end_.wait();
  }};
};

struct Player {
  explicit Player(int world_rank) {
    rank.world_rank = world_rank;
    rank.world_size = 2;
    rank.area = &node::segment().area(world_rank);
    rank.area->pid = process.id();
    rank.area->process = number;
    rank.area->trial_address = reinterpret_cast<std::uint64_t>(&number);
    rank.engine = std::make_shared<Engine>(rank, typed);
    rank.engine->prepare();
  }
  Engine& engine() { return *rank.engine; }

  OtherProcess process;
  const std::uint64_t number = static_cast<std::uint64_t>(process.id());
  Rank rank;
};

LocalSend send_of(const std::vector<char>& data, int tag) {
  LocalSend send;
  send.context = context;
  send.tag = tag;
  send.destination = 1;
  send.bytes = data.size();
  send.contiguous = data.data();
  return send;
}

// While the receiver is busy with one message the sender, which may not copy any more, gives up
// the rest of another one, whose receiver has not begun with it: it must not take part in it twice.
TEST(Transfer, TheSenderLosesItsPermissionBeforeTheReceiverBegins) {
  ASSERT_TRUE(fault_set);
  const int descriptor = node::create_segment(2, 2);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(node::segment().map(descriptor), 0);
  {
    Player sender(0);
    Player receiver(1);
    receiver.rank.area->mailbox.pollers = 1;  // awake: the sender leaves the matching to it

    const std::vector<char> large(shared, 'L');
    const std::vector<char> small(in_pieces, 'S');
    LocalSend large_send = send_of(large, 1);
    LocalSend small_send = send_of(small, 2);
    large_send.blocking = true;
    std::vector<char> received(shared);
    LocalReceive large_receive;
    InPieces small_receive;
    small_receive.meanwhile = [&] { sender.engine().progress(); };

    Engine& from = sender.engine();
    Engine& to = receiver.engine();
    large_receive.envelope() = {context, 0, 1};
    large_receive.address = reinterpret_cast<std::uint64_t>(received.data());
    large_receive.capacity = shared;
    large_receive.blocking = true;
    small_receive.envelope() = {context, 0, 2};
    small_receive.capacity = in_pieces;
    for (LocalReceive* const receive :
         {&large_receive, static_cast<LocalReceive*>(&small_receive)}) {
      ASSERT_TRUE(to.take_entry(*receive));
      to.post(*receive);
    }
    ASSERT_EQ(from.sends.start(large_send), MPI_SUCCESS);
    ASSERT_EQ(from.sends.start(small_send), MPI_SUCCESS);
    const Transfer& transfer = transfer_of(*large_send.message);

    bool over = false;
    for (int turn = 0; turn < 100 && !over; ++turn) {
      to.progress();
      from.progress();
      over = to.finished(large_receive) && to.finished(small_receive);
    }
    EXPECT_TRUE(over);
    EXPECT_EQ(transfer.piped.load(), went_over);
    EXPECT_EQ(transfer.holders.load(), 0u);
    EXPECT_EQ(transfer.copy.done.load(), 1u << (transfer.copy.fragments() - 1));  // its last one
    EXPECT_EQ(transfer.filled.load(), transfer.copy.rest_bytes());
    EXPECT_LT(transfer.filled.load(), shared);
    EXPECT_TRUE(from.sends.finished(large_send));
    EXPECT_TRUE(from.sends.finished(small_send));
    EXPECT_EQ(received, large);
    EXPECT_EQ(small_receive.data, small);
  }
  node::segment().unmap();
  close(descriptor);
}

}  // namespace
}  // namespace meantime::match
