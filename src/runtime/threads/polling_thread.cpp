#include "runtime/threads/polling_thread.h"

#include <algorithm>

#include "os/clock.h"
#include "runtime/threads/thread_executor.h"
#include "runtime/threads/tracing.h"

namespace musubi::runtime {
namespace {

// Interval after a poll that found something: data is being handed over, and more may follow soon. In a
// program where polls find nothing they become rare.
constexpr std::uint64_t shortest_ns = 50'000, longest_ns = 64'000'000;
// Back-off after a poll. While order is kept, a rest is a multiple of the poll's processor time; its waits,
// mostly for a core, do not count. In a program that keeps no order and whose polls find nothing, it is a
// multiple of the poll's elapsed time, because the poll makes other ranks release. The longest rest bounds
// the latency of a wait.
constexpr std::uint64_t rest_per_use = 3, rest_per_vain_poll = 64, longest_rest_ns = 1'000'000'000;
// Between two checks, a thread that returns to pages closed by a poll takes fewer faults than this.
constexpr std::uint64_t faults_of_spins_max = 8;

}  // namespace

PollingThread::PollingThread(fabric::Fabric& fabric, sync::FlagOrder& flags, coherence::Protocol& protocol,
                             sync::RankActivity& activity, trace::Counters& counters, RequestBell& bell,
                             std::uint64_t interval_ns, const trace::WaitBoard* board)
    : fabric_(fabric),
      flags_(flags),
      activity_(activity),
      counters_(counters),
      background_(flags, protocol.ordering(), activity, counters),
      bell_(bell),
      interval_ns_(interval_ns),
      board_(board) {
  flags_.set_bell(&bell_);
}

PollingThread::~PollingThread() {
  stopping_.store(true);
  if (thread_.joinable()) {
    (void)bell_.ring(fabric_.self());
    thread_.join();
  }
  flags_.set_bell(nullptr);
}

void PollingThread::start() {
  thread_ = std::thread([this] { work(); });
}

void PollingThread::work() {
  os::sleep_exactly();
  name_thread(ThreadRole::background, 0);
  ThreadExecutor executor(fabric_, counters_, ThreadExecutor::Pauses::sleep);
  executor_ = &executor;
  std::uint64_t interval_ns = interval_ns_;
  while (!stopping_.load()) {
    if (sleep_until(os::monotonic_ns() + interval_ns)) interval_ns = poll_if_due(interval_ns);
  }
}

bool PollingThread::answer() {
  return executor_->run(background_.answer());
}

// Answers requests while it sleeps. Result: false if the rank is about to end.
bool PollingThread::sleep_until(std::uint64_t deadline_ns) {
  for (;;) {
    const std::uint32_t asked = bell_.requests();
    if (answer()) continue;
    if (stopping_.load()) return false;
    const std::uint64_t now_ns = os::monotonic_ns();
    if (now_ns >= deadline_ns) return true;
    bell_.wait(asked, deadline_ns - now_ns);
  }
}

// The number of threads of the rank that may need a poll: all except those that wait in the runtime for an
// event that needs none.
std::uint32_t PollingThread::running_threads() const {
  if (board_ == nullptr || board_->without_record.load(std::memory_order_relaxed) != 0) return UINT32_MAX;
  const std::uint32_t count = board_->records.load(std::memory_order_relaxed);
  std::uint32_t running = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const trace::WaitRecord& record = board_->threads[i];
    if (record.thread_id.load(std::memory_order_relaxed) == 0) continue;
    const trace::Wait wait = record.wait.load(std::memory_order_relaxed);
    if (wait == trace::Wait::nothing || trace::is_spin(wait)) ++running;
  }
  return running;
}

// Whether threads of this rank run program code, and none has synchronised with all other ranks since the
// last check. If some have used locks or atomic operations, a thread may wait for a plain word, but probably
// does not. The same holds if several threads have faulted on closed pages; a single faulting thread does not
// wait.
PollingThread::Due PollingThread::is_due() {
  const std::uint64_t now = synchronisations_.load(std::memory_order_relaxed);
  const std::uint64_t calls = releases_.load(std::memory_order_relaxed) +
                              counters_.get(trace::Counter::atomics) +
                              counters_.get(trace::Counter::lock_acquisitions);
  const std::uint64_t faults =
      counters_.get(trace::Counter::read_faults) + counters_.get(trace::Counter::write_faults);
  const bool synchronised = now != seen_synchronisations_ || (now == 0 && !activity_.expects_others());
  const bool called = calls != seen_calls_;
  const bool faulted = faults > seen_faults_ + faults_of_spins_max;
  seen_synchronisations_ = now;
  seen_calls_ = calls;
  seen_faults_ = faults;
  const bool is_quiescent = activity_.is_at_quiescent_barrier();
  if (synchronised || flags_.is_alone() || is_quiescent) return Due::no;
  const std::uint32_t running = running_threads();
  if (running == 0 || (running == 1 && faulted)) return Due::no;
  return called || faulted ? Due::rarely : Due::yes;
}

// Result: the interval until the next check.
std::uint64_t PollingThread::poll_if_due(std::uint64_t interval_ns) {
  bool found = false;
  std::uint64_t rest_ns = 0;
  const Due due = is_due();
  const bool takes = due == Due::yes || (due == Due::rarely && interval_ns >= longest_ns);
  if (takes || (due == Due::rarely && flags_.in_use())) {
    const std::uint64_t begin_ns = os::monotonic_ns(), used_before_ns = os::thread_time_ns();
    Traced traced(Event::background_turn);
    found = executor_->run(background_.poll(due == Due::yes));
    traced.set_argument(found ? 1 : 0);
    rest_ns = found || flags_.in_use() ? rest_per_use * (os::thread_time_ns() - used_before_ns)
                                       : rest_per_vain_poll * (os::monotonic_ns() - begin_ns);
  }
  const bool in_use = flags_.in_use();
  const std::uint64_t most_ns = in_use ? interval_ns_ : std::max(interval_ns_, longest_ns);
  // The delay of a waiting thread stays a small multiple of the time that it has already waited.
  const std::uint64_t longer_ns = in_use ? interval_ns + interval_ns / 4 : 2 * interval_ns;
  const std::uint64_t next_ns = found && due == Due::yes ? shortest_ns : std::min(longer_ns, most_ns);
  return std::max(next_ns, std::min(rest_ns, longest_rest_ns));
}

}  // namespace musubi::runtime
