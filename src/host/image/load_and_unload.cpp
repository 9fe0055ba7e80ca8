#include "host/image/load_and_unload.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace meantime::host {
namespace {

std::string what_it_has() {
  const auto descriptors = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  std::ifstream file("/proc/self/statm");
  long pages = 0;
  file >> pages >> pages;
  return fmt::format("{} {} {}\n", count_maps(), descriptors, pages * 4);
}

}  // namespace

long count_maps() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>(), '\n');
}

std::string load_and_unload(const Closure& closure, const ThreadRoom& room, int images,
                            std::string& counts) {
  for (int i = 0; i < images; ++i) {
    if (i == images / 10) {
      counts += what_it_has();
    }
    Image image;
    if (std::string why = image.load(closure, i, room); !why.empty()) {
      return why;
    }
    image.unload();
  }
  counts += what_it_has();
  return {};
}

}  // namespace meantime::host
