// PMI-1 by its wire protocol: lines of text through an inherited socket (PMI_FD). Used by Hydra (MPICH, Intel
// MPI, MVAPICH) and by Slurm (`srun --mpi=pmi2`, which answers in both versions).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "launch/pmi/key_values.h"
#include "os/memory.h"

namespace musubi::launch {

class PmiWire final : public KeyValues {
 public:
  // `rank` and `ranks` as in the launcher's environment. Errors: it uses another version.
  static Result<std::unique_ptr<KeyValues>> join(os::FileDescriptor socket, std::uint32_t rank,
                                                 std::uint32_t ranks);

  const char* language() const override { return "PMI-1"; }
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return ranks_; }
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> fence() override;
  Result<std::string> get(std::uint32_t rank, std::string_view key) override;
  Result<void> leave() override;

 private:
  PmiWire(os::FileDescriptor socket, std::uint32_t rank, std::uint32_t ranks)
      : socket_(std::move(socket)), rank_(rank), ranks_(ranks) {}

  // Sends a command. Result: the line of the answer, whose command must be `answer`.
  Result<std::string> ask(const std::string& command, std::string_view answer);
  Result<std::string> read_line();

  os::FileDescriptor socket_;
  std::uint32_t rank_, ranks_;
  std::string space_;     // the name of the job's values
  std::string received_;  // bytes after the last line
};

}  // namespace musubi::launch
