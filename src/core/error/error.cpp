#include "core/error/error.h"

#include "deadlock/report.h"
#include "node/segment.h"

namespace meantime {
namespace {

/// Of the thread, not of the rank: several threads of a rank may fail at once. It goes before
/// atexit handlers run, which may call MPI.
constinit thread_local bool gone = false;
struct Detail {
  Detail() = default;
  Detail(const Detail&) = delete;
  ~Detail() { gone = true; }
  std::string text;
};
thread_local Detail detail;

}  // namespace

std::string_view error_detail() {
  return gone ? std::string_view{} : detail.text;
}
void set_error_detail(std::string text) {
  if (!gone) {
    detail.text = std::move(text);
  }
}

int fail_for_shared_memory(std::string_view for_what) {
  return fail(MPI_ERR_NO_MEM, "none left for {}; {}", for_what,
              wait::describe_lack(node::segment()));
}

}  // namespace meantime
