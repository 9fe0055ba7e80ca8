#include "launch/tasks/pmix.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pmix.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "launch/inspect/process_info.h"

namespace meantime::launch {
namespace {

constexpr char library_name[] = "libpmix.so.2";
constexpr char key_of_text[] = "meantime.node";
constexpr char key_of_card[] = "meantime.card";
constexpr char key_of_meeting[] = "meantime.meeting";
constexpr char key_of_task[] = "meantime.task";
constexpr char key_of_programs[] = "meantime.programs";

std::string numbered(const char* key, int program) {
  return fmt::format("{}.{}", key, program);
}

}  // namespace

std::vector<int> numbers_in(std::string_view list) {
  std::vector<int> numbers;
  while (!list.empty()) {
    int number = 0;
    const auto [end, error] = std::from_chars(list.data(), list.data() + list.size(), number);
    if (error != std::errc()) {
      break;
    }
    numbers.push_back(number);
    list.remove_prefix(static_cast<std::size_t>(end - list.data()));
    list.remove_prefix(list.starts_with(',') ? 1 : 0);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

struct Pmix::Library {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence) fence;
  decltype(&PMIx_Abort) abort;
  decltype(&PMIx_Error_string) error_string;
  pmix_proc_t self;

  std::string problem(const char* call, pmix_status_t status) const {
    return fmt::format("the launcher's PMIx server: {}: {}", call, error_string(status));
  }
  /// What the launcher says of the whole job, or of one process.
  std::string look_up(pmix_rank_t rank, const char* key, pmix_value_t*& value) const {
    pmix_proc_t whom = self;
    whom.rank = rank;
    const pmix_status_t status = get(&whom, key, nullptr, 0, &value);
    return status == PMIX_SUCCESS ? std::string()
                                  : problem(fmt::format("PMIx_Get({})", key).c_str(), status);
  }
  std::string publish(pmix_scope_t scope, const std::string& key, std::string text) const {
    pmix_value_t value{};
    value.type = PMIX_STRING;
    value.data.string = text.data();
    const pmix_status_t status = put(scope, key.c_str(), &value);
    return status == PMIX_SUCCESS ? std::string() : problem("PMIx_Put", status);
  }
  std::string commit_all() const {
    const pmix_status_t status = commit();
    return status == PMIX_SUCCESS ? std::string() : problem("PMIx_Commit", status);
  }
};

std::string Pmix::connect(pid_t launcher) {
  const std::string of_launcher =
      loaded_file(launcher, [](std::string_view name) { return name.starts_with(library_name); });
  void* handle = of_launcher.empty() ? nullptr : dlopen(of_launcher.c_str(), RTLD_NOW);
  handle = handle != nullptr ? handle : dlopen(library_name, RTLD_NOW);
  if (handle == nullptr) {
    return fmt::format(
        "the launcher speaks PMIx, and {} is not there (Debian: apt install "
        "libpmix2): {}",
        library_name, dlerror());
  }
  static Library library;
  const char* missing = nullptr;
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    missing = function == nullptr && missing == nullptr ? name : missing;
  };
  find(library.init, "PMIx_Init");
  find(library.finalize, "PMIx_Finalize");
  find(library.get, "PMIx_Get");
  find(library.put, "PMIx_Put");
  find(library.commit, "PMIx_Commit");
  find(library.fence, "PMIx_Fence");
  find(library.abort, "PMIx_Abort");
  find(library.error_string, "PMIx_Error_string");
  if (missing != nullptr) {
    return fmt::format("{} is no PMIx library: it lacks {}", library_name, missing);
  }
  if (const pmix_status_t status = library.init(&library.self, nullptr, 0);
      status != PMIX_SUCCESS) {
    return library.problem("PMIx_Init", status) +
           " (is it of a version that this library does not speak to?)";
  }
  library_ = &library;
  rank_ = static_cast<int>(library.self.rank);
  pmix_value_t* value = nullptr;
  if (std::string wrong = library.look_up(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, value);
      !wrong.empty()) {
    return wrong;
  }
  size_ = value->type == PMIX_UINT32 ? static_cast<int>(value->data.uint32) : 0;
  return {};
}

std::string Pmix::read_place() {
  pmix_value_t* value = nullptr;
  if (library_->look_up(library_->self.rank, PMIX_APPNUM, value).empty() &&
      value->type == PMIX_UINT32) {
    app_number_ = static_cast<int>(value->data.uint32);
  }
  if (std::string wrong = library_->look_up(PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS, value);
      !wrong.empty()) {
    return wrong;
  }
  if (value->type == PMIX_STRING && value->data.string != nullptr) {
    on_this_node_ = numbers_in(value->data.string);
  }
  if (!std::binary_search(on_this_node_.begin(), on_this_node_.end(), rank_)) {
    return "the launcher's PMIx server does not say who is on this node (PMIX_LOCAL_PEERS)";
  }
  if (library_->look_up(library_->self.rank, PMIX_HOSTNAME, value).empty() &&
      value->type == PMIX_STRING && value->data.string != nullptr) {
    node_name_ = value->data.string;
  }
  return {};
}

// What the server of PRRTE 3.0 has heard of another node's tasks under a key it has for good, so
// the cards of a task's next MPI program are under other keys. How many have been, the task's own
// server knows; once the task has committed something it does not wait for more before it says so.
std::string Pmix::count_programs() {
  std::string wrong = library_->publish(PMIX_LOCAL, key_of_task, "");
  wrong = wrong.empty() ? library_->commit_all() : wrong;
  if (!wrong.empty()) {
    return wrong;
  }
  std::string before;
  program_ = read(rank_, key_of_programs, before).empty() ? std::atoi(before.c_str()) : 0;
  return library_->publish(PMIX_LOCAL, key_of_programs, fmt::to_string(program_ + 1));
}

std::string Pmix::share(std::string& text, const std::string& card, const std::string& meeting) {
  const int first = on_this_node_.front();
  std::string wrong =
      rank_ == first ? library_->publish(PMIX_LOCAL, key_of_text, text) : std::string();
  if (wrong.empty() && !card.empty()) {
    wrong = count_programs();
  }
  if (wrong.empty() && !card.empty()) {
    wrong = library_->publish(PMIX_GLOBAL, numbered(key_of_card, program_), card);
  }
  if (wrong.empty() && !card.empty() && rank_ == 0) {
    wrong = library_->publish(PMIX_GLOBAL, numbered(key_of_meeting, program_), meeting);
  }
  wrong = wrong.empty() ? library_->commit_all() : wrong;
  if (!wrong.empty()) {
    return wrong;
  }
  pmix_info_t collects{};
  std::strncpy(collects.key, PMIX_COLLECT_DATA, PMIX_MAX_KEYLEN);
  collects.value.type = PMIX_BOOL;
  collects.value.data.flag = true;
  const pmix_status_t status = library_->fence(nullptr, 0, &collects, card.empty() ? 0 : 1);
  if (status != PMIX_SUCCESS) {
    return library_->problem("PMIx_Fence", status);
  }
  return rank_ == first ? std::string() : read(first, key_of_text, text);
}

std::string Pmix::abort(int status) {
  const pmix_status_t answer = library_->abort(status, "", nullptr, 0);
  return answer == PMIX_SUCCESS ? std::string() : library_->problem("PMIx_Abort", answer);
}

std::string Pmix::read_card(int rank, std::string& card) {
  return read(rank, numbered(key_of_card, program_), card);
}

std::string Pmix::read_meeting(std::string& meeting) {
  return read(0, numbered(key_of_meeting, program_), meeting);
}

std::string Pmix::read(int rank, const std::string& key, std::string& text) {
  pmix_value_t* value = nullptr;
  std::string wrong = library_->look_up(static_cast<pmix_rank_t>(rank), key.c_str(), value);
  if (wrong.empty()) {
    text = value->type == PMIX_STRING && value->data.string != nullptr ? value->data.string : "";
  }
  return wrong;
}

void Pmix::disconnect() {
  if (library_ != nullptr) {
    library_->finalize(nullptr, 0);
    library_ = nullptr;
  }
}

}  // namespace meantime::launch
