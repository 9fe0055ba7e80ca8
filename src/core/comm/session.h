// A session: a way to use MPI without MPI_COMM_WORLD (MPI 5.0 11.3). It keeps the library up, and
// it names sets of ranks, from which groups and communicators are made.
#pragma once

#include <mpi.h>

#include <memory>

#include "core/error/errhandler.h"
#include "core/object/info.h"
#include "core/object/object.h"
#include "core/request/buffered.h"

namespace meantime {

struct Session : Object {
  static constexpr Kind object_kind = Kind::session;
  Session() : Object(Kind::session) {}
  ~Session();

  Errhandler* errhandler = nullptr;
  /// Those made from it know it, so that it is there before anything is attached.
  std::shared_ptr<core::Buffer> buffer = std::make_shared<core::Buffer>();
  Info* info = nullptr;

  MPI_Session handle() { return reinterpret_cast<MPI_Session>(this); }
};

}  // namespace meantime
