// Threads of a rank that wait. One of them, the watcher, sleeps in the transport; the others sleep on a
// futex, and the watcher hands its place to one of them when it leaves. So no wake-up is lost (each
// sequentially consistent, so that of two threads at least one sees what the other did first):
//
// - A thread reads `bell_` before it looks at `ready`. wake() changes the bell, then looks for sleepers. A
//   sleeper announces itself, then compares the bell again.
// - A watcher leaves: it frees the place, then looks for sleepers. A sleeper announces itself, then looks
//   whether the place is free.
// - A sleeper that wakes while nobody watches wakes another one: it may itself have what it waited for.
#pragma once

#include <atomic>
#include <cstdint>

#include "fabric/active_messages/attendance.h"
#include "fabric/active_messages/transport.h"
#include "fabric/looks.h"
#include "fabric/waiting_policy.h"
#include "os/cpu.h"
#include "os/yield_meter.h"

namespace musubi::fabric {

// Any thread, signal-safe.
class Sleepers {
 public:
  Sleepers(Transport& transport, WaitingPolicy policy) noexcept
      : transport_(transport),
        attendance_(transport),
        spin_checks_(policy.spin_checks),
        yields_max_(policy.yields) {}

  // Until progress() does something, `ready` is true, or wake(); by the policy first spinning, then yielding,
  // then asleep. Result: whether it slept, and so may have taken a call that was meant for the rank.
  template <typename Progress>
  bool wait(const std::atomic<bool>& ready, Progress progress) noexcept {
    const std::uint32_t bell = bell_.load();
    const auto is_over = [&] { return ready.load(std::memory_order_acquire) || rung(bell) || progress(); };
    if (spins_until(ready, bell, is_over)) return false;
    if (is_over() || yields_.yield_until(yields_max_.load(std::memory_order_relaxed), is_over)) return false;
    sleep(ready, bell);
    return true;
  }
  void set_policy(WaitingPolicy policy) noexcept {
    spin_checks_.store(policy.spin_checks, std::memory_order_relaxed);
    yields_max_.store(policy.yields, std::memory_order_relaxed);
  }

  Attendance& attendance() noexcept { return attendance_; }
  std::uint32_t bell() const noexcept { return bell_.load(); }
  // The last part of wait(), for a caller that read `bell` before it looked.
  void sleep(const std::atomic<bool>& ready, std::uint32_t bell) noexcept;
  // Makes every thread return from wait() and sleep().
  void wake() noexcept;
  // Something is there for whoever polls. `urgent`: if nobody waits, for the service thread.
  void call(bool urgent) noexcept;

  // A wait for `done()` that does not sleep. Result: whether it came.
  template <typename Done>
  bool watch(Done done) noexcept {
    for (std::uint32_t i = spin_checks_.load(std::memory_order_relaxed); i != 0; --i) {
      if (done()) return true;
      os::pause_instruction();
    }
    return done() || yields_.yield_until(yields_max_.load(std::memory_order_relaxed), done);
  }

 private:
  // Result: whether it is over.
  template <typename IsOver>
  bool spins_until(const std::atomic<bool>& ready, std::uint32_t bell, IsOver is_over) noexcept {
    Looks<Attendance> looks(&attendance_);
    for (std::uint32_t i = spin_checks_.load(std::memory_order_relaxed); i != 0; --i) {
      if (i % checks_per_poll == 0) {
        if (is_over()) return true;
        looks.begin();
      }
      if (ready.load(std::memory_order_acquire) || rung(bell)) return true;
      os::pause_instruction();
    }
    return false;
  }
  // Wakes one sleeper, to watch.
  void hand_on() noexcept;

  // A poll is a system call or several; the policy counts looks at memory.
  static constexpr std::uint32_t checks_per_poll = 8;

  bool rung(std::uint32_t bell) const noexcept { return bell_.load(std::memory_order_acquire) != bell; }

  Transport& transport_;
  Attendance attendance_;
  std::atomic<std::uint32_t> spin_checks_, yields_max_;
  std::atomic<std::uint32_t> bell_{0};      // futex word
  std::atomic<std::uint32_t> sleepers_{0};  // on the futex, or about to
  std::atomic<bool> watched_{false};        // a thread sleeps in the transport, or is about to
  os::YieldMeter yields_;
};

}  // namespace musubi::fabric
