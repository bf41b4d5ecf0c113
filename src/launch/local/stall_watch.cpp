#include "launch/local/stall_watch.h"

#include <algorithm>
#include <cstdio>

namespace musubi::launch {
namespace {

using trace::Wait;

// The state of one thread at two times.
bool stands(const ThreadState& now, const ThreadState& before) {
  if (now.thread_id != before.thread_id || now.wait != before.wait || now.moves != before.moves ||
      now.object != before.object || now.address != before.address) {
    return false;
  }
  if (now.stopped) return before.stopped;
  // A thread that has neither polled nor run between them is still about to poll.
  if (trace::is_spin(now.wait)) {
    return now.looks != before.looks || now.processor_ticks == before.processor_ticks;
  }
  if (now.wait == Wait::nothing) return now.sleeps && now.processor_ticks == before.processor_ticks;
  return true;
}

bool stand(const std::vector<RankState>& now, const std::vector<RankState>& before) {
  return std::equal(now.begin(), now.end(), before.begin(), before.end(),
                    [](const RankState& rank, const RankState& earlier) {
                      return rank.rank == earlier.rank && rank.without_record == 0 &&
                             std::equal(rank.threads.begin(), rank.threads.end(), earlier.threads.begin(),
                                        earlier.threads.end(), stands);
                    });
}

bool waits_for_others(const ThreadState& thread) {
  return thread.wait != Wait::nothing && thread.wait != Wait::region;
}

bool any_waits_for_others(const std::vector<RankState>& ranks) {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankState& rank) {
    return std::any_of(rank.threads.begin(), rank.threads.end(), waits_for_others);
  });
}

}  // namespace

StallWatch::StallWatch(std::chrono::nanoseconds patience)
    : patience_ns_(static_cast<std::uint64_t>(patience.count())) {
  if (patience_ns_ != 0) due_ns_ = 0;
}

bool StallWatch::look(std::uint64_t now_ns, std::vector<RankState> now) {
  constexpr std::uint64_t shortest_ns = 50'000'000, longest_ns = 5'000'000'000;
  due_ns_ = now_ns + std::clamp(patience_ns_ / 4, shortest_ns, longest_ns);
  const bool still = any_waits_for_others(now) && stand(now, before_);
  before_ = std::move(now);
  if (!still) {
    since_ns_ = now_ns;
    reported_ = false;
    return false;
  }
  if (reported_ || now_ns - since_ns_ < patience_ns_) return false;
  return reported_ = true;
}

std::string StallWatch::heading() const {
  char text[80];
  std::snprintf(text, sizeof text, "musubi: nothing has moved for %g s; the job goes on waiting:",
                static_cast<double>(patience_ns_) * 1e-9);
  return text;
}

}  // namespace musubi::launch
