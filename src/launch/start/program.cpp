#include "launch/start/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <deque>
#include <set>
#include <sstream>
#include <string_view>

#include "elf/elf_file.h"
#include "elf/library_search.h"
#include "launch/generated/missing_calls.h"
#include "settings/shown.h"

namespace meantime::launch {

namespace {

// Libraries of the C and C++ run time, which need no MPI: not opened, to stay fast.
constexpr std::string_view leaves[] = {
    "libc.so",      "libm.so",     "libpthread.so", "libdl.so",       "librt.so",
    "libstdc++.so", "libgcc_s.so", "ld-linux",      "libgfortran.so", "libquadmath.so",
    "libgomp.so",   "libasan.so",  "libtsan.so",    "libubsan.so",    "libz.so"};

struct OtherMpi {
  std::string_view prefix;
  std::string_view name;
};
constexpr OtherMpi others[] = {
    {"libmpi.so.40", "Open MPI"},
    {"libmpi.so.20", "Open MPI"},
    {"libmpi.so.12", "MPICH or Intel MPI"},
    {"libmpi.so", "another MPI"},
    {"libmpich", "MPICH"},
    {"libmpi_cray", "Cray MPICH"},
    {"libmpi_gnu", "Cray MPICH"},
    {"libmpi_ibm", "IBM Spectrum MPI"},
    {"libmpi_mpifh", "Open MPI"},
    {"libmpi_usempi", "Open MPI"},
    {"libmpi_cxx", "Open MPI"},
    {"libmpicxx", "MPICH or Intel MPI"},
    {"libmpifort", "MPICH or Intel MPI"},
    {"libmpc_framework", "MPC"},
};

constexpr std::string_view abi_library = "libmpi_abi.so";

const OtherMpi* other_mpi(std::string_view library) {
  for (const OtherMpi& other : others) {
    if (library.starts_with(other.prefix)) {
      return &other;
    }
  }
  return nullptr;
}

bool is_leaf(std::string_view library) {
  return std::any_of(std::begin(leaves), std::end(leaves),
                     [&](std::string_view leaf) { return library.starts_with(leaf); });
}

bool same_file(const std::string& left, const std::string& right) {
  struct stat a {
  }, b{};
  return stat(left.c_str(), &a) == 0 && stat(right.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

bool starts_with_text(const std::string& path, ProgramKind& kind) {
  char head[256] = {};
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t bytes = file < 0 ? -1 : read(file, head, sizeof head);
  if (file >= 0) {
    close(file);
  }
  if (bytes < 0) {
    return false;
  }
  bool script = bytes >= 2 && head[0] == '#' && head[1] == '!';
  bool binary = std::memchr(head, 0, static_cast<std::size_t>(bytes)) != nullptr;
  kind = script || binary ? ProgramKind::other : ProgramKind::text;
  return true;
}

/// Our Fortran libraries have every call, so what they import says nothing about the program.
constexpr std::string_view fortran_library = "libmeantime_";

/// The C call behind a Fortran procedure's name: mpi_put_ is MPI_Put, mpi_put_c_f08ts_ MPI_Put_c.
std::string_view missing_fortran_call(std::string_view procedure) {
  for (std::string_view ending : {"_f08ts_", "_f08_", "_cptr_", "_"}) {
    if (procedure.ends_with(ending)) {
      procedure.remove_suffix(ending.size());
      break;
    }
  }
  const auto same = [](char left, char right) {
    return std::tolower(static_cast<unsigned char>(left)) ==
           std::tolower(static_cast<unsigned char>(right));
  };
  for (std::string_view call : missing_calls) {
    if (std::equal(call.begin(), call.end(), procedure.begin(), procedure.end(), same)) {
      return call;
    }
  }
  return {};
}

void add_missing_calls(const ElfFile& elf, std::set<std::string>& calls) {
  for (const char* prefix : {"mpi_", "pmpi_"}) {
    for (const std::string& name : elf.imports(prefix)) {
      std::string_view call = missing_fortran_call(std::string_view(name).substr(*prefix == 'p'));
      if (!call.empty()) {
        calls.insert(std::string(call));
      }
    }
  }
  for (const char* prefix : {"MPI_", "PMPI_"}) {
    for (const std::string& name : elf.imports(prefix)) {
      std::string_view call(name);
      call.remove_prefix(call.starts_with("P") ? 1 : 0);
      if (std::binary_search(missing_calls.begin(), missing_calls.end(), call)) {
        calls.insert(std::string(call));
      }
    }
  }
}

}  // namespace

bool is_other_mpi(std::string_view file_name) {
  return other_mpi(file_name) != nullptr;
}

ResolvedProgram resolve_program(const std::string& name, const std::string& directory,
                                const std::string& search_path) {
  auto in_directory = [&](const std::string& path) {
    return path.starts_with('/') || directory.empty() ? path : directory + "/" + path;
  };
  auto check = [](const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) {
      return errno;
    }
    if (S_ISDIR(status.st_mode)) {
      return EISDIR;
    }
    if (!S_ISREG(status.st_mode)) {
      return ENOEXEC;  // a FIFO would let us wait for its writer
    }
    return access(path.c_str(), X_OK) == 0 ? 0 : errno;
  };
  if (name.find('/') != std::string::npos) {
    int error = check(in_directory(name));
    if (error == 0) {
      return {name, {}, 0};
    }
    std::string why =
        error == EISDIR    ? "it is a directory"
        : error == ENOEXEC ? "it is not a regular file"
        : error == EACCES  ? "it is not executable (chmod +x makes it so)"
        : error == ENOENT || error == ENOTDIR
            ? fmt::format("no such file{}",
                          directory.empty() ? "" : " in " + settings::shown_path(directory))
            : std::strerror(error);
    return {{},
            fmt::format("cannot run '{}': {}", settings::shown_path(name), why),
            error == ENOENT || error == ENOTDIR ? 127 : 126};
  }
  int found_but = 0;
  std::stringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string path = (folder.empty() ? "." : folder) + "/" + name;
    int error = name.empty() ? ENOENT : check(in_directory(path));
    if (error == 0) {
      return {path, {}, 0};
    }
    if (error == EACCES) {
      found_but = error;
    }
  }
  // MPICH and Open MPI differ about a bare name in the current folder; say what is meant.
  int here = name.empty() ? ENOENT : check(in_directory("./" + name));
  std::string hint = here == 0 ? fmt::format("; did you mean ./{}?", name) : "";
  if (found_but != 0) {
    return {{},
            fmt::format("cannot run '{}': found in PATH, but not executable",
                        settings::shown_path(name)),
            126};
  }
  return {{}, fmt::format("cannot find '{}' in PATH{}", settings::shown_path(name), hint), 127};
}

ResolvedProgram find_program(const std::string& name) {
  const char* search = std::getenv("PATH");
  return resolve_program(name, "", search == nullptr ? "/usr/bin:/bin" : search);
}

Inspection inspect_program(const std::string& path, const std::string& library_path,
                           const std::string& our_library) {
  Inspection result;
  std::deque<LoadedFile> files;  // breadth first, as the run-time linker loads; addresses stay
  files.emplace_back();
  files.front().path = path;
  if (!files.front().elf.open(path)) {
    starts_with_text(path, result.kind);
    return result;
  }
  result.kind = ProgramKind::machine_code;
  std::set<std::string> seen;
  std::set<std::string> calls;
  for (std::size_t i = 0; i < files.size() && files.size() < 1000; ++i) {
    LoadedFile& file = files[i];
    if (!std::string_view(file.path)
             .substr(file.path.rfind('/') + 1)
             .starts_with(fortran_library)) {
      add_missing_calls(file.elf, calls);
    }
    if (i == 0) {
      result.own_missing_calls.assign(calls.begin(), calls.end());
    }
    for (const std::string& library : file.elf.needed()) {
      if (!seen.insert(library).second || is_leaf(library)) {
        continue;
      }
      if (const OtherMpi* other = other_mpi(library)) {
        std::string by = &file == &files.front()
                             ? ""
                             : fmt::format(" (needed by {})", settings::shown_path(file.path));
        result.refusal =
            fmt::format("'{}' is linked to {} of {}{}; rebuild it with Meantime's mpicc or mpicxx",
                        settings::shown_path(path), settings::shown_path(library), other->name, by);
        return result;
      }
      FoundLibrary found = find_library(library, file, library_path);
      if (std::string_view(library).starts_with(abi_library)) {
        result.uses_mpi = true;
        result.finds_ours = same_file(found.path, our_library);
        if (!result.finds_ours && found.by_old_path) {
          result.refusal = fmt::format(
              "'{}' takes {} by an old-style run path (DT_RPATH), which cannot be overridden; "
              "rebuild it with Meantime's mpicc or with -Wl,--enable-new-dtags",
              settings::shown_path(path), settings::shown_path(found.path));
          return result;
        }
        continue;
      }
      if (!found.path.empty()) {
        LoadedFile next;
        next.path = found.path;
        next.loader = &file;
        if (next.elf.open(found.path)) {
          files.push_back(std::move(next));
        }
      }
    }
  }
  if (result.uses_mpi) {
    result.missing_calls.assign(calls.begin(), calls.end());
  } else {
    result.own_missing_calls.clear();
  }
  return result;
}

std::string missing_calls_text(const std::vector<std::string>& calls) {
  constexpr std::size_t shown = 8;
  std::string names;
  for (std::size_t i = 0; i < calls.size() && i < shown; ++i) {
    names += (i == 0 ? "" : ", ") + calls[i];
  }
  if (calls.size() > shown) {
    names += fmt::format(" and {} more", calls.size() - shown);
  }
  return fmt::format("calls that Meantime does not have yet: {}", names);
}

}  // namespace meantime::launch
