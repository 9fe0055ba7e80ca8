// What an integer variable of the tools interface means: a name for each value (MPI 5.0, 15.3.4).
// Values count from 0. Lives as long as the process, so its address is the MPI_T_enum.
#pragma once

#include <mpi.h>

#include <span>
#include <string>
#include <string_view>

namespace meantime::tool {

struct Enumeration {
  std::string name;
  std::span<const std::string_view> items;

  MPI_T_enum handle() const { return reinterpret_cast<MPI_T_enum>(const_cast<Enumeration*>(this)); }
};

}  // namespace meantime::tool
