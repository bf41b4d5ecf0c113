#include "image/symbols/numbered_calls.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include <cerrno>
#include <climits>
#include <cstdint>

#include "image/process/refusal.h"
#include "image/symbols/exported.h"
#include "image/symbols/threads/file_object.h"
#include "image/symbols/threads/moments.h"
#include "image/symbols/threads/shared_word.h"
#include "image/symbols/threads/word_wait.h"

namespace musubi::image {
namespace {

constexpr timespec look_again_after{0, 100'000'000};

struct Limit {
  clockid_t clock;
  const timespec* moment;  // null: no limit
  bool has_passed() const noexcept { return moment != nullptr && image::has_passed(clock, *moment); }
};

// A wake may come without a change: a thread that was woken, or has waited for a while, returns, as futex(2)
// permits at any time. The flush makes the writes before the change visible, plain stores included.
long wait_for_change(Job& job, std::uint32_t* address, std::uint32_t expected, Limit limit) noexcept {
  const SharedWord word(address);
  const timespec look_again = moment_in(CLOCK_MONOTONIC, look_again_after);
  WordWait wait(address);
  for (bool first = true;; first = false) {
    const bool changed = word.load() != expected;
    job.runtime.synchronization().flush();
    if (changed) return first ? fail(EAGAIN) : 0;
    if (limit.has_passed()) return fail(ETIMEDOUT);
    if (has_passed(CLOCK_MONOTONIC, look_again)) return 0;
    if (limit.moment != nullptr) {
      wait.pause(limit.clock, limit.moment);
    } else {
      wait.pause(CLOCK_MONOTONIC, &look_again);
    }
  }
}

// Returns the result of a wake that finds no waiter. The flush makes earlier writes visible to waiting
// threads.
long wake(Job& job, const std::uint32_t* address, std::uint32_t count) noexcept {
  job.runtime.synchronization().flush();
  if (count == 1) {
    wake_waiter(address);
  } else {
    wake_waiters(address);
  }
  return 0;
}

}  // namespace

bool does_shared_futex(const long* given, long& result) noexcept {
  auto* const address = reinterpret_cast<std::uint32_t*>(given[0]);
  Job* const job = job_that_shares(address) != nullptr || FileObject(address) ? current_job() : nullptr;
  if (job == nullptr || reinterpret_cast<std::uintptr_t>(address) % sizeof *address != 0) return false;
  const auto operation = static_cast<int>(given[1]);
  const auto value = static_cast<std::uint32_t>(given[2]);
  const auto* const time = reinterpret_cast<const timespec*>(given[3]);
  const int command = operation & FUTEX_CMD_MASK;
  constexpr std::uint32_t all = INT_MAX;
  const bool waits = command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
  if (waits && time != nullptr && !is_moment(*time)) {
    result = fail(EINVAL);
    return true;
  }
  switch (command) {
    case FUTEX_WAIT: {
      const timespec end = time != nullptr ? moment_in(CLOCK_MONOTONIC, *time) : timespec{};
      result = wait_for_change(*job, address, value, {CLOCK_MONOTONIC, time != nullptr ? &end : nullptr});
      return true;
    }
    case FUTEX_WAIT_BITSET: {
      const clockid_t clock = (operation & FUTEX_CLOCK_REALTIME) != 0 ? CLOCK_REALTIME : CLOCK_MONOTONIC;
      result = wait_for_change(*job, address, value, {clock, time});
      return true;
    }
    case FUTEX_CMP_REQUEUE:
      result = SharedWord(address).load() != static_cast<std::uint32_t>(given[5]) ? fail(EAGAIN)
                                                                                  : wake(*job, address, all);
      return true;
    case FUTEX_REQUEUE:
    case FUTEX_WAKE_BITSET:
      result = wake(*job, address, all);
      return true;
    case FUTEX_WAKE:
      result = wake(*job, address, value);
      return true;
    default:
      report_refused_call(
          "an operation of futex(2) on shared memory was refused: it would act on this rank alone",
          "wait and wake only, or use the mutexes of POSIX");
      result = fail(ENOSYS);
      return true;
  }
}

}  // namespace musubi::image
