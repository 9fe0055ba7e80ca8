// A way for a payload that stays with its sender until there is a match. Which ways there are, and
// when which is taken, says Transfers::choose; a new one is a class here and a line there.
//   match     whoever holds the match lock: sender, receiver or a third rank
//   ends      who finds all bytes there says so: the receive is done (Transitions::finish), and it
//             holds the transfer no more (Transitions::leave), nor does a receiver that took part
#pragma once

#include "match/items.h"

namespace meantime::match {

class Way {
 public:
  enum class First { nobody, receiver, sender };

  /// There is a match, and perhaps a match lock held. Says who takes part first; the sender only if
  /// that is this rank.
  virtual First begin(Message& message, Receive& receive) = 0;
  /// The receive's owner takes part.
  virtual void receive(Message& message, Receive& receive) = 0;
  /// The sender takes part, first or because it was noticed (Transitions::notice_sender).
  virtual void send(Message& message) = 0;
  /// What has been begun goes on. True if anything moved.
  virtual bool progress() = 0;

 protected:
  ~Way() = default;
};

}  // namespace meantime::match
