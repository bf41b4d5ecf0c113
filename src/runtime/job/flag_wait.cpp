#include "runtime/job/flag_wait.h"

#include <algorithm>

#include "os/clock.h"
#include "runtime/threads/waiting.h"

namespace musubi::runtime {
namespace {

// Polls by flushes or atomic operations after which they count as a wait.
constexpr std::uint32_t looks_before_wait = 16;

// Consecutive flushes that received nothing and published nothing.
struct IdleFlushes {
  std::uint32_t count = 0;
  std::uint64_t begin_ns = 0;  // begin of the wait that they have become
  std::uint64_t next_request_ns = 0;
};
constinit thread_local IdleFlushes idle_flushes_of_thread;

// Consecutive atomic operations that left the same word unchanged: polls for a change.
class Spins {
 public:
  // Result: the number of consecutive polls, including this one.
  std::uint32_t look(std::uintptr_t address, bool unchanged) noexcept {
    constexpr std::uint32_t looks_before_report = 1000;
    if (!unchanged || address != address_) {
      if (count_ > looks_before_report) note_moved();
      count_ = 0;
    }
    address_ = address;
    if (++count_ > looks_before_report) note_spin(Wait::atomic, address);
    return count_;
  }

 private:
  std::uintptr_t address_ = 0;
  std::uint32_t count_ = 0;
};
constinit thread_local Spins spins_of_thread;

}  // namespace

void FlagWait::note_flush(bool brought) {
  constexpr std::uint32_t looks_before_report = 200;
  if (brought) idle_flushes_of_thread = {};
  const std::uint32_t idle = ++idle_flushes_of_thread.count;
  idle > looks_before_report ? note_spin(Wait::flag, 0) : note_moved();
  if (idle > looks_before_wait) wait();
}

void FlagWait::note_atomic(std::uintptr_t address, bool unchanged, bool may_wait) {
  const std::uint32_t looks = spins_of_thread.look(address, unchanged);
  if (!may_wait) return;
  // A plain store of a thread that makes no call afterwards may free the word.
  if (looks == 1) idle_flushes_of_thread = {};
  if (looks > looks_before_wait) wait();
}

// The thread that will change the flag needs the processor. If it makes no calls, its rank has to be asked,
// at intervals that grow with the wait. An atomic operation may also have published the change without
// notifying other ranks. The rank's logical time therefore advances past the leases of its copies, so that
// the thread reads them again.
void FlagWait::wait() {
  constexpr std::uint64_t first_request_ns = 20'000, requests_apart_ns = 1'000'000, first_nap_ns = 5'000'000;
  constexpr std::uint64_t ticks_apart = 10;
  IdleFlushes& idle = idle_flushes_of_thread;
  const std::uint64_t now_ns = os::monotonic_ns();
  if (idle.begin_ns == 0) {
    idle.begin_ns = now_ns;
    idle.next_request_ns = now_ns + first_request_ns;
  }
  const std::uint64_t waited_ns = now_ns - idle.begin_ns;
  if (!job_.one_memory && now_ns >= idle.next_request_ns) {
    threads_.executor().run(flags_.nudge());
    threads_.executor().run(
        protocol_.acquire_clock(protocol_.clock() + job_.settings.lease_ticks + ticks_apart));
    idle.next_request_ns = now_ns + std::min(std::max(waited_ns, first_request_ns), requests_apart_ns);
  }
  // If threads outnumber the cores, the thread that will change the flag may wait for this core.
  if (!threads_.share_cores()) return;
  waited_ns < first_nap_ns ? threads_.step_aside() : JobThreads::nap();
}

}  // namespace musubi::runtime
