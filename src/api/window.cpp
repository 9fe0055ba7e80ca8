// MPI 5.0 chapter 12: windows as objects. One-sided communication itself is not there yet: its
// calls have no implementation, so their entry points say so through the window's error handler.
// With none of it under way, a fence is a barrier.
#include "core/object/window.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "api/generated/calls.h"
#include "core/comm/communicator_make.h"
#include "core/error/error.h"
#include "core/object/handles.h"
#include "core/request/segment_memory.h"
#include "node/segment.h"

namespace meantime::api {
namespace {

constexpr std::size_t alignment = 64;  ///< of memory that MPI gives

int check_memory(MPI_Aint size, MPI_Aint disp_unit) {
  if (size < 0) {
    return fail(MPI_ERR_SIZE, "a window of {} bytes", size);
  }
  if (disp_unit <= 0 || disp_unit > INT_MAX) {
    return fail(MPI_ERR_DISP, "a displacement unit of {} bytes: it is at least 1, and an int",
                disp_unit);
  }
  return MPI_SUCCESS;
}

/// What the calls that make windows have in common. Collective over `comm`.
int make(Communicator& comm, Info* info, int flavor, MPI_Aint size, MPI_Aint disp_unit,
         std::unique_ptr<Window>& window) {
  if (const int error = check_memory(size, disp_unit); error != MPI_SUCCESS) {
    return error;
  }
  window = std::make_unique<Window>();
  window->flavor = flavor;
  window->size = size;
  window->disp_unit = static_cast<int>(disp_unit);
  window->errhandler = hold(core::tables().fatal);
  core::set_hints(*window, info);
  // A new context without the communicator's attributes: their copy functions are not for this.
  return core::create_first(comm, comm.size, &window->team);
}

int give(int error, std::unique_ptr<Window>& window, MPI_Win* handle) {
  *handle = error == MPI_SUCCESS ? window.release()->handle() : MPI_WIN_NULL;
  return error;
}

void give_pointer(void* place, void* pointer) {
  std::memcpy(place, &pointer, sizeof pointer);
}

/// One piece of the node's segment, in which the ranks' parts lie one behind the other.
int allocate_parts(Window& window) {
  Communicator& team = *window.team;
  Datatype& words = *resolve(MPI_AINT);
  const std::string* hint =
      window.info != nullptr ? window.info->find("alloc_shared_noncontig") : nullptr;
  const MPI_Aint mine[] = {window.size, window.disp_unit, hint != nullptr && *hint == "true"};
  std::vector<MPI_Aint> all(std::size(mine) * static_cast<std::size_t>(team.size));
  int error = Allgather(mine, std::size(mine), words, all.data(), std::size(mine), words, team);
  if (error != MPI_SUCCESS) {
    return error;
  }
  // Parts that need not be contiguous begin at a cache line of their own: if all ranks say so, for
  // all must come to the same offsets.
  MPI_Aint step = alignment;
  for (std::size_t at = 2; at < all.size(); at += std::size(mine)) {
    step = all[at] != 0 ? step : 1;
  }
  MPI_Aint bytes = 0;
  for (int r = 0; r < team.size; ++r) {
    const MPI_Aint* of_rank = &all[std::size(mine) * static_cast<std::size_t>(r)];
    window.parts.push_back({bytes, of_rank[0], of_rank[1]});
    if (__builtin_add_overflow(bytes, of_rank[0], &bytes) ||
        __builtin_add_overflow(bytes, step - 1, &bytes)) {
      return fail(MPI_ERR_SIZE, "the parts of {} ranks have more bytes together than an address",
                  team.size);  // at all ranks, which see the same sizes
    }
    bytes = bytes / step * step;
  }
  MPI_Aint words_of_memory[] = {0, bytes};  // the link is 0 where there is no memory
  if (team.rank == 0) {
    const auto wanted = static_cast<std::size_t>(std::max<MPI_Aint>(bytes, 1));
    window.shared = core::segment_memory(team, wanted);
    window.shared_bytes = window.shared != 0 ? wanted : 0;
    words_of_memory[0] = static_cast<MPI_Aint>(window.shared);
  }
  error = Bcast(words_of_memory, std::size(words_of_memory), words, 0, team);
  if (error != MPI_SUCCESS) {
    return error;
  }
  if (words_of_memory[0] == 0) {
    return fail_for_shared_memory(fmt::format("a window of {} bytes", bytes));
  }
  window.shared = static_cast<std::uint64_t>(words_of_memory[0]);
  window.base = node::segment().at<char>(window.shared) +
                window.parts[static_cast<std::size_t>(team.rank)].offset;
  return MPI_SUCCESS;
}

}  // namespace

// --- Making and freeing

int Win_create(void* base, MPI_Aint size, MPI_Aint disp_unit, Info* info, Communicator& comm,
               MPI_Win* win) {
  std::unique_ptr<Window> window;
  const int error = make(comm, info, MPI_WIN_FLAVOR_CREATE, size, disp_unit, window);
  if (error == MPI_SUCCESS) {
    window->base = base;
  }
  return give(error, window, win);
}

int Win_allocate(MPI_Aint size, MPI_Aint disp_unit, Info* info, Communicator& comm, void* baseptr,
                 MPI_Win* win) {
  std::unique_ptr<Window> window;
  int error = make(comm, info, MPI_WIN_FLAVOR_ALLOCATE, size, disp_unit, window);
  if (error == MPI_SUCCESS && size > 0) {
    // Not malloc's multiple: aligned_alloc wants one.
    const std::size_t bytes = (static_cast<std::size_t>(size) + alignment - 1) & ~(alignment - 1);
    window->allocated = std::aligned_alloc(alignment, bytes);
    window->base = window->allocated;
    if (window->allocated == nullptr) {
      error = fail(MPI_ERR_NO_MEM, "there are no {} bytes of memory", size);
    }
  }
  if (error == MPI_SUCCESS) {
    give_pointer(baseptr, window->base);
  }
  return give(error, window, win);
}

int Win_allocate_shared(MPI_Aint size, MPI_Aint disp_unit, Info* info, Communicator& comm,
                        void* baseptr, MPI_Win* win) {
  std::unique_ptr<Window> window;
  if (!comm.is_on_one_node()) {
    return fail(MPI_ERR_RMA_SHARED,
                "the ranks of several nodes have no memory in common; "
                "MPI_Comm_split_type(MPI_COMM_TYPE_SHARED) says who has");
  }
  int error = make(comm, info, MPI_WIN_FLAVOR_SHARED, size, disp_unit, window);
  if (error == MPI_SUCCESS) {
    error = allocate_parts(*window);
  }
  if (error == MPI_SUCCESS) {
    give_pointer(baseptr, window->base);
  }
  return give(error, window, win);
}

int Win_create_dynamic(Info* info, Communicator& comm, MPI_Win* win) {
  std::unique_ptr<Window> window;
  const int error = make(comm, info, MPI_WIN_FLAVOR_DYNAMIC, 0, 1, window);
  return give(error, window, win);
}

int Win_free(MPI_Win* win) {
  Window* window = resolve(*win);
  if (window == nullptr) {
    return fail(MPI_ERR_WIN, "there is no window to free");
  }
  if (const int error = core::delete_attributes(window->attributes, *win); error != MPI_SUCCESS) {
    return error;
  }
  // Nobody's memory goes before all are here (MPI 5.0, 12.2.5).
  if (const int error = Barrier(*window->team); error != MPI_SUCCESS) {
    return error;
  }
  delete window;
  *win = MPI_WIN_NULL;
  return MPI_SUCCESS;
}

// --- Its memory

int Win_attach(Window& win, void* base, MPI_Aint size) {
  if (win.flavor != MPI_WIN_FLAVOR_DYNAMIC) {
    return fail(MPI_ERR_RMA_FLAVOR, "memory is attached to dynamic windows alone");
  }
  if (size < 0) {
    return fail(MPI_ERR_SIZE, "{} bytes of memory", size);
  }
  char* const first = static_cast<char*>(base);
  const auto behind = win.attached.upper_bound(first);
  const bool reaches_into = behind != win.attached.end() && behind->first < first + size;
  const bool begins_in = behind != win.attached.begin() &&
                         first < std::prev(behind)->first + std::prev(behind)->second;
  const bool twice = win.attached.contains(first);
  if (reaches_into || begins_in || twice) {
    return fail(MPI_ERR_RMA_ATTACH, "the memory overlaps with what is attached already");
  }
  win.attached[first] = size;
  return MPI_SUCCESS;
}

int Win_detach(Window& win, const void* base) {
  if (win.flavor != MPI_WIN_FLAVOR_DYNAMIC) {
    return fail(MPI_ERR_RMA_FLAVOR, "memory is attached to dynamic windows alone");
  }
  return win.attached.erase(static_cast<char*>(const_cast<void*>(base))) == 1
             ? MPI_SUCCESS
             : fail(MPI_ERR_RMA_ATTACH, "nothing that begins there is attached");
}

int Win_shared_query(Window& win, int rank, MPI_Aint* size, MPI_Aint* disp_unit, void* baseptr) {
  if (win.flavor == MPI_WIN_FLAVOR_DYNAMIC) {
    return fail(MPI_ERR_RMA_FLAVOR, "a dynamic window has no memory of its own to ask for");
  }
  if (rank != MPI_PROC_NULL && (rank < 0 || rank >= win.team->size)) {
    return fail(MPI_ERR_RANK, "argument 2 (rank) is {}, but the window has {} ranks", rank,
                win.team->size);
  }
  if (win.flavor != MPI_WIN_FLAVOR_SHARED) {
    // Loads and stores reach this rank's memory alone; of the others' there are 0 bytes.
    const bool mine = rank == win.team->rank;
    *size = mine ? win.size : 0;
    *disp_unit = mine ? win.disp_unit : 0;
    give_pointer(baseptr, mine ? win.base : nullptr);
    return MPI_SUCCESS;
  }
  // MPI_PROC_NULL: the lowest rank that has any (MPI 5.0, 12.2.3).
  const Window::Part none{0, 0, 1};
  const Window::Part* part = &none;
  if (rank != MPI_PROC_NULL) {
    part = &win.parts[static_cast<std::size_t>(rank)];
  } else {
    for (auto each = win.parts.rbegin(); each != win.parts.rend(); ++each) {
      part = each->size > 0 ? &*each : part;
    }
  }
  *size = part->size;
  *disp_unit = part->disp_unit;
  give_pointer(baseptr,
               part == &none ? nullptr : node::segment().at<char>(win.shared) + part->offset);
  return MPI_SUCCESS;
}

// --- Synchronization, as far as it means something without communication

int Win_fence(int assertion, Window& win) {
  constexpr int known = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if ((assertion & ~known) != 0) {
    return fail(MPI_ERR_ASSERT, "argument 1 (assert) is {:#x}: a fence does not know that",
                assertion);
  }
  return Barrier(*win.team);
}

int Win_sync(Window& win) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return MPI_SUCCESS;
}

// --- What a window is

int Win_get_group(Window& win, MPI_Group* group) {
  *group = core::handle_of_its_own(hold(*win.team->group));
  return MPI_SUCCESS;
}

int Win_set_info(Window& win, Info* info) {
  core::set_hints(win, info);
  return MPI_SUCCESS;
}

int Win_get_info(Window& win, MPI_Info* info_used) {
  *info_used = core::visible_hints(win)->handle();
  return MPI_SUCCESS;
}

int Win_set_name(Window& win, const char* win_name) {
  win.name.assign(win_name, strnlen(win_name, MPI_MAX_OBJECT_NAME - 1));
  return MPI_SUCCESS;
}

int Win_get_name(MPI_Win win, char* win_name, int* resultlen) {
  const Window* window = resolve(win);
  if (window == nullptr && win != MPI_WIN_NULL) {
    return fail(MPI_ERR_WIN, "the handle is no window");
  }
  const std::string_view name = window == nullptr ? "MPI_WIN_NULL" : std::string_view(window->name);
  std::memcpy(win_name, name.data(), name.size());
  win_name[name.size()] = '\0';
  *resultlen = static_cast<int>(name.size());
  return MPI_SUCCESS;
}

}  // namespace meantime::api
