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
  const node::Link place = self().engine->memory.find(area_bytes(ranks));
  if (place != 0) {
    clear_area(place, ranks);
  }
  return place;
}

void release_area(node::Link place, int ranks) {
  self().engine->pool.release(place, area_bytes(ranks));
}

void clear_area(node::Link place, int ranks) {
  std::memset(node::segment().at<char>(place), 0, area_bytes(ranks));
}

}  // namespace meantime::coll
