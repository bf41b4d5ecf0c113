// The distribution of a team's threads over the ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "config/value.h"

namespace musubi::omp {

// The threads of the job, rank by rank.
class ThreadsOfRanks {
 public:
  ThreadsOfRanks(const config::Settings& settings, std::uint32_t ranks) : first_(ranks + 1) {
    std::vector<std::uint32_t> counts = config::counts_in(settings.threads_of_ranks);
    counts.resize(ranks, static_cast<std::uint32_t>(settings.threads_per_rank));
    for (std::uint32_t rank = 0; rank < ranks; ++rank) first_[rank + 1] = first_[rank] + counts[rank];
  }

  std::uint32_t all() const { return first_.back(); }
  std::uint32_t on(std::uint32_t rank) const { return first_[rank + 1] - first_[rank]; }
  std::uint32_t before(std::uint32_t rank) const { return first_[rank]; }

 private:
  std::vector<std::uint32_t> first_;  // by rank, then the total
};

// omp_proc_bind_t.
enum class ProcBind : std::uint8_t { no, yes, primary, close, spread };

// How a team that is smaller than the job is distributed.
enum class Spacing : std::uint8_t {
  close,   // one rank after the other
  spread,  // in proportion to the ranks' threads
  first,   // all on rank 0
};

// Threads in rank-major order; a team larger than the job's threads is distributed in proportion to them.
class Placement {
 public:
  // `job` outlives this.
  Placement(std::uint32_t team_size, const ThreadsOfRanks& job, Spacing spacing = Spacing::close)
      : size_(team_size), job_(&job), spacing_(spacing) {}

  std::uint32_t first_on(std::uint32_t rank) const {
    const std::uint64_t before = job_->before(rank), all = job_->all();
    if (spacing_ == Spacing::first) return before == 0 ? 0 : size_;
    if (spacing_ == Spacing::close && size_ <= all)
      return std::min(size_, static_cast<std::uint32_t>(before));
    return static_cast<std::uint32_t>((size_ * before + all - 1) / all);
  }
  std::uint32_t members_on(std::uint32_t rank) const { return first_on(rank + 1) - first_on(rank); }

 private:
  std::uint32_t size_;
  const ThreadsOfRanks* job_;
  Spacing spacing_;
};

}  // namespace musubi::omp
