// Teams inside one rank: for regions inside an active region, and for regions of threads that the program
// made itself. Their members are threads of the pool, their words and barriers are local to the process, and
// their constructs order nothing between ranks.
#pragma once

#include <cstdint>

#include "base/spin_lock.h"
#include "omp/pool.h"
#include "omp/team.h"
#include "omp/team_words.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

struct InnerTeam {
  InnerTeam(runtime::Runtime& runtime, Pool& pool)
      : words(runtime, 1), crew(pool), team(runtime, words, crew, this) {}

  TeamWords words;
  Crew crew;
  Team team;
  // Constructs that its teams have met: the words stay as the last region left them.
  std::uint32_t loops = 0;
  std::uint32_t singles = 0;
  std::uint32_t counted = 0;  // threads that the contention group counts
  InnerTeam* next = nullptr;  // while it is free
};

// Any thread, for all functions.
class InnerTeams {
 public:
  explicit InnerTeams(Pool& pool) : pool_(pool) {}
  InnerTeams(const InnerTeams&) = delete;
  InnerTeams& operator=(const InnerTeams&) = delete;

  // A team that is not open.
  InnerTeam& take(runtime::Runtime& runtime);
  // With its threads.
  void give_back(InnerTeam& inner);

 private:
  Pool& pool_;
  SpinLock lock_;
  InnerTeam* free_ MUSUBI_GUARDED_BY(lock_) = nullptr;
};

}  // namespace musubi::omp
