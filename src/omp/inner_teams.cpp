#include "omp/inner_teams.h"

#include "omp/shared_memory.h"

namespace musubi::omp {

InnerTeam& InnerTeams::take(runtime::Runtime& runtime) {
  lock_.lock();
  InnerTeam* const inner = free_;
  if (inner != nullptr) free_ = inner->next;
  lock_.unlock();
  return inner != nullptr ? *inner : *make_private<InnerTeam>(runtime, pool_);
}

void InnerTeams::give_back(InnerTeam& inner) {
  inner.crew.disband();
  lock_.lock();
  inner.next = free_;
  free_ = &inner;
  lock_.unlock();
}

}  // namespace musubi::omp
