#include "coll/area.h"

#include <cstring>

#include "match/engine.h"
#include "node/segment.h"
#include "rank/rank.h"

namespace meantime::coll {

node::Link make_area(int ranks) {
  if (ranks < 2 || ranks > 0xffff) {
    return 0;
  }
  const node::Link place = self().engine->pool.allocate(area_bytes(ranks));
  if (place != 0) {
    std::memset(node::segment().at<char>(place), 0, area_bytes(ranks));
  }
  return place;
}

void release_area(node::Link place, int ranks) {
  if (self().engine == nullptr) {
    return;  // the segment goes with the job
  }
  node::Pool& pool = self().engine->pool;
  const Area area(node::segment().at<char>(place), ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    for (auto& left : area.member(rank).left_behind) {
      if (left.bytes != 0) {
        pool.release(left.place, left.bytes);
      }
    }
  }
  pool.release(place, area_bytes(ranks));
}

}  // namespace meantime::coll
