// Programs that hand data over by plain flags.
//
// A thread writes data, then sets a flag by a plain store, and goes on; another one flushes until it sees the
// flag. No instruction of the writer tells that anything is to be released (the pipelines of LU in NAS are
// written so, and x86 processors keep the order). What the reader has is its flush, and the fault by which it
// gets the flag. So while flushes are in use in the job, each fault acquires what came along with the block:
// it waits for releases that are under way, lest the flag be there and the data not, and then acquires by the
// clock.
#include <sched.h>

#include "runtime/job_runtime.h"

namespace musubi::runtime {
namespace {

// Words of each rank, behind the team words and the statistics.
constexpr std::size_t credit = 0;  // barriers until flushes count as out of use
constexpr std::size_t begun = 1;   // releases by the clock
constexpr std::size_t finished = 2;
constexpr std::uint64_t barriers_without_flush = 64;

}  // namespace

std::atomic_ref<std::uint64_t> JobRuntime::flag_word(Rank owner, std::size_t index) {
  std::byte* region = fabric_->direct(owner, coherence::control_region) + control_layout_.team_words;
  return std::atomic_ref<std::uint64_t>(
      reinterpret_cast<std::uint64_t*>(region)[team_words + trace::counter_count + index]);
}

bool JobRuntime::flags_in_use() {
  return ranks_ > 1 && flag_word(self_, credit).load() != 0;
}

void JobRuntime::note_flush() {
  if (ranks_ == 1) return;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    auto word = flag_word(Rank{rank}, credit);
    if (word.load() < barriers_without_flush / 2) word.store(barriers_without_flush);
  }
}

// Another thread of this rank may write data, and then its flag, while a release is between the two blocks:
// the flag then goes out before the data. A second pass brings these, before anybody who waits for the
// release goes on.
void JobRuntime::release_in_order() {
  flag_word(self_, begun).fetch_add(1);
  executor().run(clock_->release());
  if (stacks_->in_use() > 1 && flags_in_use()) executor().run(clock_->release());
  flag_word(self_, finished).fetch_add(1);
}

void JobRuntime::release_before_barrier() {
  flag_word(self_, credit).fetch_sub(1);
  release_in_order();
}

void JobRuntime::acquire_what_came_along() {
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (rank == self_.value) continue;
    const std::uint64_t seen = flag_word(Rank{rank}, begun).load();
    // Bounded: a thread that is stopped in its release must not stop the others.
    for (int look = 0; look < 1000 && flag_word(Rank{rank}, finished).load() < seen; ++look) ::sched_yield();
  }
  executor().run(clock_->acquire());
}

}  // namespace musubi::runtime
