// The operations of the oversubscription benchmark: what one turn does, and a checked turn.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "../common/mpi_program.h"

namespace bench {

// One operation on one communicator, repeated with the same buffers.
class Operation {
 public:
  Operation(MPI_Comm comm, long bytes) : comm_(comm), bytes_(static_cast<int>(bytes)) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
  }
  virtual ~Operation() = default;
  virtual void turn(long number) = 0;
  // Runs one turn with known data; true if the result is right.
  virtual bool right() = 0;

 protected:
  int root(long number) const { return static_cast<int>(number % ranks_); }
  std::size_t size() const { return static_cast<std::size_t>(bytes_); }
  static bool holds(const char* data, std::size_t size, char value) {
    for (std::size_t i = 0; i < size; i++)
      if (data[i] != value) return false;
    return true;
  }

  MPI_Comm comm_;
  int bytes_, rank_ = 0, ranks_ = 0;
};

class Barrier : public Operation {
 public:
  using Operation::Operation;
  void turn(long) override { MPI_Barrier(comm_); }
  bool right() override { return MPI_Barrier(comm_) == MPI_SUCCESS; }
};

class Allreduce : public Operation {
 public:
  Allreduce(MPI_Comm comm, long bytes)
      : Operation(comm, bytes), in_(size() / sizeof(double)), out_(size() / sizeof(double)) {}
  void turn(long) override {
    MPI_Allreduce(in_.data(), out_.data(), static_cast<int>(in_.size()), MPI_DOUBLE, MPI_SUM,
                  comm_);
  }
  bool right() override {
    for (std::size_t i = 0; i < in_.size(); i++) in_[i] = rank_ + static_cast<double>(i);
    turn(0);
    for (std::size_t i = 0; i < in_.size(); i++)
      if (out_[i] != ranks_ * (ranks_ - 1) / 2.0 + ranks_ * static_cast<double>(i)) return false;
    return true;
  }

 private:
  std::vector<double> in_, out_;
};

// Each rank sends to both neighbours of a ring and receives from both.
class RingHalo : public Operation {
 public:
  RingHalo(MPI_Comm comm, long bytes) : Operation(comm, bytes), out_(2 * size()), in_(2 * size()) {}
  void turn(long) override {
    const int left = (rank_ + ranks_ - 1) % ranks_, right = (rank_ + 1) % ranks_;
    MPI_Request requests[4];
    MPI_Irecv(in_.data(), bytes_, MPI_CHAR, left, 1, comm_, &requests[0]);
    MPI_Irecv(in_.data() + size(), bytes_, MPI_CHAR, right, 2, comm_, &requests[1]);
    MPI_Isend(out_.data(), bytes_, MPI_CHAR, right, 1, comm_, &requests[2]);
    MPI_Isend(out_.data() + size(), bytes_, MPI_CHAR, left, 2, comm_, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
  bool right() override {
    std::fill(out_.begin(), out_.end(), static_cast<char>(rank_));
    turn(0);
    return holds(in_.data(), size(), static_cast<char>((rank_ + ranks_ - 1) % ranks_)) &&
           holds(in_.data() + size(), size(), static_cast<char>((rank_ + 1) % ranks_));
  }

 private:
  std::vector<char> out_, in_;
};

// The root moves on at every turn, so that no rank can run far ahead.
class Bcast : public Operation {
 public:
  Bcast(MPI_Comm comm, long bytes) : Operation(comm, bytes), data_(size()) {}
  void turn(long number) override {
    MPI_Bcast(data_.data(), bytes_, MPI_CHAR, root(number), comm_);
  }
  bool right() override {
    const long number = ranks_ - 1;
    std::fill(data_.begin(), data_.end(), static_cast<char>(rank_ == root(number) ? 77 : 0));
    turn(number);
    return holds(data_.data(), size(), 77);
  }

 private:
  std::vector<char> data_;
};

// `bytes` to each rank; the root moves on as that of a broadcast.
class Scatter : public Operation {
 public:
  Scatter(MPI_Comm comm, long bytes)
      : Operation(comm, bytes), all_(size() * static_cast<std::size_t>(ranks_)), mine_(size()) {}
  void turn(long number) override {
    MPI_Scatter(all_.data(), bytes_, MPI_CHAR, mine_.data(), bytes_, MPI_CHAR, root(number), comm_);
  }
  bool right() override {
    for (int to = 0; to < ranks_; to++)
      std::memset(all_.data() + size() * static_cast<std::size_t>(to), rank_ * 3 + to, size());
    const long number = ranks_ - 1;
    turn(number);
    return holds(mine_.data(), size(), static_cast<char>(root(number) * 3 + rank_));
  }

 private:
  std::vector<char> all_, mine_;
};

// `bytes` from each rank.
class Allgather : public Operation {
 public:
  Allgather(MPI_Comm comm, long bytes)
      : Operation(comm, bytes), in_(size()), out_(size() * static_cast<std::size_t>(ranks_)) {}
  void turn(long) override {
    MPI_Allgather(in_.data(), bytes_, MPI_CHAR, out_.data(), bytes_, MPI_CHAR, comm_);
  }
  bool right() override {
    std::fill(in_.begin(), in_.end(), static_cast<char>(rank_ + 1));
    turn(0);
    for (int from = 0; from < ranks_; from++)
      if (!holds(out_.data() + size() * static_cast<std::size_t>(from), size(),
                 static_cast<char>(from + 1)))
        return false;
    return true;
  }

 private:
  std::vector<char> in_, out_;
};

// `bytes` from each rank to each rank.
class Alltoall : public Operation {
 public:
  Alltoall(MPI_Comm comm, long bytes)
      : Operation(comm, bytes),
        in_(size() * static_cast<std::size_t>(ranks_)),
        out_(size() * static_cast<std::size_t>(ranks_)) {}
  void turn(long) override {
    MPI_Alltoall(in_.data(), bytes_, MPI_CHAR, out_.data(), bytes_, MPI_CHAR, comm_);
  }
  bool right() override {
    for (int to = 0; to < ranks_; to++)
      std::memset(in_.data() + size() * static_cast<std::size_t>(to), rank_ * 3 + to, size());
    turn(0);
    for (int from = 0; from < ranks_; from++)
      if (!holds(out_.data() + size() * static_cast<std::size_t>(from), size(),
                 static_cast<char>(from * 3 + rank_)))
        return false;
    return true;
  }

 private:
  std::vector<char> in_, out_;
};

inline std::unique_ptr<Operation> make_operation(const std::string& name, MPI_Comm comm,
                                                 long bytes) {
  if (name == "barrier") return std::make_unique<Barrier>(comm, bytes);
  if (name == "allreduce") return std::make_unique<Allreduce>(comm, bytes);
  if (name == "halo") return std::make_unique<RingHalo>(comm, bytes);
  if (name == "bcast") return std::make_unique<Bcast>(comm, bytes);
  if (name == "scatter") return std::make_unique<Scatter>(comm, bytes);
  if (name == "allgather") return std::make_unique<Allgather>(comm, bytes);
  if (name == "alltoall") return std::make_unique<Alltoall>(comm, bytes);
  throw UsageError("there is no operation '" + name + "'");
}

// Memory that one such operation takes in the whole job, in bytes.
inline double memory_of(const std::string& name, int ranks, long bytes) {
  const double n = ranks, size = static_cast<double>(bytes);
  if (name == "alltoall") return 2 * n * n * size;
  if (name == "allgather" || name == "scatter") return n * (n + 1) * size;
  return 4 * n * size;
}

}  // namespace bench
