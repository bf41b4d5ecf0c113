#include "omp/placement.h"

#include "config/value.h"

namespace musubi::omp {

ThreadsOfRanks::ThreadsOfRanks(const config::Settings& settings, std::uint32_t ranks) : first_(ranks + 1) {
  std::vector<std::uint32_t> counts = config::counts_in(settings.threads_of_ranks);
  counts.resize(ranks, static_cast<std::uint32_t>(settings.threads_per_rank));
  for (std::uint32_t rank = 0; rank < ranks; ++rank) first_[rank + 1] = first_[rank] + counts[rank];
}

}  // namespace musubi::omp
