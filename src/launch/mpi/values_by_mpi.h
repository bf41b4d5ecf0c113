// Implements KeyValues by MPI itself, without another protocol of the launcher.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fabric/mpi/mpi_calls.h"
#include "launch/pmi/key_values.h"

namespace musubi::launch {

class ValuesByMpi final : public KeyValues {
 public:
  ValuesByMpi(const musubi_mpi_calls& calls, std::uint32_t rank, std::uint32_t ranks)
      : calls_(calls), rank_(rank), ranks_(ranks) {}

  const char* language() const override { return "MPI"; }
  std::uint32_t rank() const override { return rank_; }
  std::uint32_t ranks() const override { return ranks_; }
  Result<void> put(std::string_view key, std::string_view value) override;
  Result<void> fence() override;
  Result<std::string> get(std::uint32_t rank, std::string_view key) override;
  Result<void> leave() override { return {}; }

 private:
  Error failed(int error) const;

  const musubi_mpi_calls& calls_;
  const std::uint32_t rank_, ranks_;
  std::string own_;                                      // values put since the last fence, as lines
  std::vector<std::map<std::string, std::string>> got_;  // by rank
};

}  // namespace musubi::launch
