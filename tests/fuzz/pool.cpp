#include "pool.h"

namespace fuzz {
namespace {

struct Pending {
  MPI_Request request;
  bool persistent;
  Done done;
};

std::vector<Pending> pool;
bool plainly = false;

/// One that is complete: its handle is null, or inactive.
void leave(Pending& pending, MPI_Status& status) {
  if (pending.persistent) {
    MUST(MPI_Request_free(&pending.request));
  }
  pending.done(status);
}

void remove_done(const std::vector<bool>& gone) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    if (i >= gone.size() || !gone[i]) {
      if (kept != i) {
        pool[kept] = std::move(pool[i]);
      }
      ++kept;
    }
  }
  pool.resize(kept);
}

/// Completes these, all or some of them.
void complete(Random& own, std::vector<std::size_t> chosen, bool all) {
  while (!chosen.empty()) {
    const int n = static_cast<int>(chosen.size());
    std::vector<MPI_Request> requests;
    for (const std::size_t i : chosen) {
      requests.push_back(pool[i].request);
    }
    std::vector<MPI_Status> statuses(chosen.size());
    std::vector<int> which(chosen.size(), -1);
    int many = 0, flag = 0;
    const int way = plainly ? 8 : own.below(8);
    switch (way) {
      case 0:
        MUST(MPI_Waitall(n, requests.data(), statuses.data()));
        flag = 1;
        break;
      case 1:
        while (flag == 0) {
          MUST(MPI_Testall(n, requests.data(), &flag, statuses.data()));
        }
        break;
      case 2:
        MUST(MPI_Waitany(n, requests.data(), which.data(), statuses.data()));
        many = 1;
        break;
      case 3:
        while (flag == 0) {
          MUST(MPI_Testany(n, requests.data(), which.data(), &flag, statuses.data()));
        }
        flag = 0;
        many = 1;
        break;
      case 4:
        MUST(MPI_Waitsome(n, requests.data(), &many, which.data(), statuses.data()));
        break;
      case 5:
        while (many == 0) {
          MUST(MPI_Testsome(n, requests.data(), &many, which.data(), statuses.data()));
        }
        break;
      default:
        which[0] = plainly ? 0 : own.below(n);
        finish(own, &requests[static_cast<std::size_t>(which[0])], statuses.data());
        many = 1;
        break;
    }
    std::vector<bool> gone(pool.size(), false);
    std::vector<bool> is_done(chosen.size(), flag != 0);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      pool[chosen[i]].request = requests[i];
    }
    std::vector<Pending> finished;
    std::vector<MPI_Status> theirs;
    for (int i = 0; i < (flag != 0 ? n : many); ++i) {
      const auto place =
          static_cast<std::size_t>(flag != 0 ? i : which[static_cast<std::size_t>(i)]);
      is_done[place] = true;
      gone[chosen[place]] = true;
      finished.push_back(std::move(pool[chosen[place]]));
      theirs.push_back(statuses[static_cast<std::size_t>(i)]);
    }
    // The rest of the chosen move down with the others.
    std::vector<std::size_t> left;
    std::size_t shift = 0, next = 0;
    for (std::size_t i = 0; i < pool.size(); ++i) {
      if (next < chosen.size() && chosen[next] == i) {
        if (!is_done[next]) {
          left.push_back(i - shift);
        }
        ++next;
      }
      shift += gone[i] ? 1 : 0;
    }
    remove_done(gone);
    for (std::size_t i = 0; i < finished.size(); ++i) {
      leave(finished[i], theirs[i]);
    }
    chosen = std::move(left);
    if (!all && own.chance(50)) {
      return;
    }
  }
}

}  // namespace

void wait_plainly() {
  plainly = true;
}

void put(MPI_Request request, bool persistent, Done done) {
  pool.push_back({request, persistent, std::move(done)});
}

int outstanding() {
  return static_cast<int>(pool.size());
}

void complete_some(Random& own) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < pool.size(); ++i) {
    if (own.chance(40)) {
      chosen.push_back(i);
    }
  }
  complete(own, chosen, false);
}

void complete_all(Random& own) {
  std::vector<std::size_t> chosen(pool.size());
  for (std::size_t i = 0; i < pool.size(); ++i) {
    chosen[i] = i;
  }
  complete(own, chosen, true);
}

void finish(Random& own, MPI_Request* request, MPI_Status* status) {
  int flag = 0;
  switch (plainly ? 0 : own.below(3)) {
    case 0:
      MUST(MPI_Wait(request, status));
      break;
    case 1:
      while (flag == 0) {
        MUST(MPI_Test(request, &flag, status));
      }
      break;
    default:
      for (int i = 0; i < 3 && flag == 0; ++i) {
        MUST(MPI_Request_get_status(*request, &flag, status));
      }
      MUST(MPI_Wait(request, status));
      break;
  }
}

}  // namespace fuzz
