#include "ledger/changes.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "node/segment.h"

namespace meantime::ledger {

void note_change(node::RankArea& area, ChangedBy by, std::string_view name,
                 std::string_view value) {
  node::Segment& segment = node::segment();
  node::Link link = area.changes.load(std::memory_order_relaxed);
  if (link == 0) {
    link = segment.grow(ChangePage::bytes);
    if (link == 0) {
      return;
    }
    area.changes.store(link, std::memory_order_release);
  }
  auto& page = *segment.at<ChangePage>(link);
  std::string text(name);
  if (!value.empty()) {
    text.append("=").append(value);
  }
  text.resize(std::min(text.size(), sizeof(Change::text) - 1));
  const std::uint32_t used = page.used.load(std::memory_order_relaxed);
  for (std::uint32_t index = 0; index < used; ++index) {
    if (page.change[index].by == by && text == page.change[index].text) {
      return;
    }
  }
  if (used == ChangePage::most) {
    page.left_out.store(page.left_out.load(std::memory_order_relaxed) + 1,
                        std::memory_order_relaxed);
    return;
  }
  page.change[used].by = by;
  std::memcpy(page.change[used].text, text.c_str(), text.size() + 1);
  page.used.store(used + 1, std::memory_order_release);
}

}  // namespace meantime::ledger
