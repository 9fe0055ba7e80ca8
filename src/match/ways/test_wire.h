// A test setting (MEANTIME_TEST_WIRE): large messages inside the node go as over a network whose
// rendezvous the processors handle (Figure 6 of the paper on MPI virtualization), so that it can be
// seen how many ranks a core hide that.
//   sender    ready to send ───────►  receiver, once it is in MPI (or its interface)
//   sender    ◄─────── ready to receive, once it is in MPI
//   sender    data on the wire ······ once it is in MPI again, they are there; both are told
// "In MPI" is each rank of a worker when one of them comes to MPI to send (as in the paper's
// system, whose scheduling points serve all ranks of a core), if ranks are not stolen. Each arrow
// takes the latency; the data take that and their bytes at the bandwidth. Until then nobody
// computes for them. A rank that has a step under way looks at the clock at each turn of a wait and
// nobody rings it: the setting goes with polling and yielding only. A wait of more than a second
// sleeps all the same (the search for deadlocks wants it), so such a rank naps then.
// With `interface_answers` the receiver's network interface answers for itself where the receive is
// posted: then only the sender's two gaps are left, which is what the paper counts. A step that is
// there when its rank is in MPI anyway (a receive posted late, an answer within the call that
// sends) is taken at once, and is no gap.
// Not on the wire is what cannot go from buffer to buffer: data that lie in pieces, and a message
// to a rank that was not through MPI_Init when it was sent (nobody knows then whose memory can be
// read).
#pragma once

#include <vector>

#include "match/transitions.h"
#include "match/ways/copies.h"

namespace meantime::match {

struct Engine;

class TestWire final : public Way {
 public:
  TestWire(Engine& engine, Transitions& transitions, Copies& copies);
  ~TestWire();
  TestWire(const TestWire&) = delete;
  TestWire& operator=(const TestWire&) = delete;

  /// The sender is ready to send.
  void offer(Transfer& transfer) const;
  /// By an offer this rank is in MPI, and so are those of its worker that do not run now.
  void take_what_arrived();

  First begin(Message& message, Receive& receive) override;
  void receive(Message& message, Receive& receive) override;
  void send(Message& message) override { put_on(message); }
  bool progress() override;
  bool idle() const { return steps_under_way_.empty(); }

 private:
  void ready_to_receive(Message& message);
  void put_on(Item& item);
  bool has_arrived(Item& step);

  Engine& engine_;
  const Wire& wire_;
  Transitions& transitions_;
  Copies& copies_;
  /// Receives of ours, sends of ours: whose next step comes to us.
  std::vector<Item*> steps_under_way_;
};

}  // namespace meantime::match
