#include "omp/inner_teams.h"

#include "omp/shared_memory.h"

namespace musubi::omp {

InnerTeam& InnerTeams::take(runtime::Runtime& runtime) {
  {
    const Held held(lock_);
    if (InnerTeam* const inner = free_) {
      free_ = inner->next;
      return *inner;
    }
  }
  return *make_private<InnerTeam>(runtime, pool_);
}

void InnerTeams::give_back(InnerTeam& inner) {
  inner.crew.disband();
  const Held held(lock_);
  inner.next = free_;
  free_ = &inner;
}

}  // namespace musubi::omp
