#include "runtime/keeper.h"

#include <algorithm>

#include "base/check.h"
#include "coherence/core/block_words.h"
#include "os/clock.h"
#include "os/futex.h"
#include "runtime/thread_executor.h"

namespace musubi::runtime {
namespace {

// After a turn that found something the next one may soon find more: data is being handed over. In a program
// where turns find nothing they become rare.
constexpr std::uint64_t shortest_ns = 50'000, longest_ns = 64'000'000;
// A rank spends no more than one part in so many on turns.
constexpr std::uint64_t share_of_turns = 4;

}  // namespace

Keeper::Keeper(fabric::Fabric& fabric, sync::FlagOrder& flags, coherence::Protocol& protocol,
               sync::Stand& stand, trace::Counters& counters, std::uint64_t interval_ns,
               std::uint64_t asked_offset)
    : fabric_(fabric),
      flags_(flags),
      stand_(stand),
      counters_(counters),
      background_(flags, protocol, stand, counters),
      interval_ns_(interval_ns),
      asked_offset_(asked_offset) {
  flags_.set_bell(this);
}

Keeper::~Keeper() {
  stopping_.store(true);
  flags_.set_bell(nullptr);
  if (thread_.joinable()) {
    ring(fabric_.self());
    thread_.join();
  }
}

void Keeper::start() {
  thread_ = std::thread([this] { work(); });
}

// Little-endian: the lower half of the word that requests are counted in.
const std::atomic<std::uint32_t>* Keeper::asked_word(Rank rank) noexcept {
  std::byte* const region = fabric_.direct(rank, coherence::control_region);
  MUSUBI_CHECK(region != nullptr, "requests are heard in the memory of the rank that is asked");
  return reinterpret_cast<const std::atomic<std::uint32_t>*>(region + asked_offset_);
}

void Keeper::ring(Rank peer) noexcept {
  os::futex_wake(*asked_word(peer));
}

void Keeper::work() {
  ThreadExecutor executor(fabric_, counters_);
  executor_ = &executor;
  std::uint64_t interval_ns = interval_ns_;
  while (!stopping_.load()) {
    if (sleep_until(os::monotonic_ns() + interval_ns)) interval_ns = turn_if_due(interval_ns);
  }
}

bool Keeper::answer() {
  return executor_->run(background_.answer());
}

// Answers meanwhile. Result: false when the rank is about to end.
bool Keeper::sleep_until(std::uint64_t deadline_ns) {
  const std::atomic<std::uint32_t>* const word = asked_word(fabric_.self());
  for (;;) {
    const std::uint32_t asked = word->load();
    if (answer()) continue;
    if (stopping_.load()) return false;
    const std::uint64_t now_ns = os::monotonic_ns();
    if (now_ns >= deadline_ns) return true;
    os::futex_wait(*word, asked, deadline_ns - now_ns);
  }
}

// Whether threads of this rank run program code, and none has synchronised since the last look.
bool Keeper::is_due() {
  const std::uint64_t now = synchronisations_.load(std::memory_order_relaxed);
  const bool none_since = now == seen_synchronisations_ && now != 0;
  seen_synchronisations_ = now;
  return none_since && stand_.barrier() == sync::Stand::Barrier::none;
}

// Result: the interval until the next look.
std::uint64_t Keeper::turn_if_due(std::uint64_t interval_ns) {
  bool found = false;
  std::uint64_t took_ns = 0;
  if (is_due()) {
    const std::uint64_t begin_ns = os::monotonic_ns();
    found = executor_->run(background_.turn());
    took_ns = os::monotonic_ns() - begin_ns;
  }
  const std::uint64_t most_ns = flags_.in_use() ? interval_ns_ : std::max(interval_ns_, longest_ns);
  const std::uint64_t next_ns = found ? shortest_ns : std::min(2 * interval_ns, most_ns);
  return std::max(next_ns, share_of_turns * took_ns);
}

}  // namespace musubi::runtime
