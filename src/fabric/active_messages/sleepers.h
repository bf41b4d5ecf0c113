// Waiting threads of a rank. One of them, the watcher, sleeps in the transport; all other threads sleep on
// futexes, and the watcher hands its place to one of them when it leaves. The address of its `ready` selects
// a thread's futex, so an answer for one of many threads wakes hardly any other. No wake-up is lost, because
// these steps are sequentially consistent: of two threads at least one sees the other's first step.
//
// - A thread reads its bell before it looks at `ready`. Each call changes the bell, then looks for sleepers.
//   A sleeper announces itself, then compares the bell again.
// - A watcher that leaves frees the place, then looks for sleepers. A sleeper announces itself, then checks
//   whether the place is free.
// - A sleeper that wakes while there is no watcher wakes another one, because its own wait may be over.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "fabric/active_messages/transport.h"
#include "fabric/waiting.h"
#include "os/cpu.h"
#include "os/yield_meter.h"

namespace musubi::fabric {

// Threads of a rank that poll for arrivals while they wait. Arrivals that they see need wake no other thread:
// the service thread would take a core only to find the work done.
// Any thread, signal-safe.
class Attendance {
 public:
  explicit Attendance(Transport& transport) noexcept : transport_(transport) {}

  void begin_polling() noexcept {
    looking_.fetch_add(1);
    tell();
  }
  void end_polling() noexcept {
    looking_.fetch_sub(1);
    tell();
  }

 private:
  // One thread at a time tells the transport. A thread that finds another thread telling leaves the change to
  // it, which checks again afterwards.
  void tell() noexcept {
    bool looks;
    do {
      if (telling_.exchange(true)) return;
      looks = looking_.load() != 0;
      if (looks != told_.load(std::memory_order_relaxed)) {
        told_.store(looks, std::memory_order_relaxed);
        transport_.set_attended(looks);
      }
      telling_.store(false);
    } while ((looking_.load() != 0) != looks);
  }

  Transport& transport_;
  std::atomic<std::uint32_t> looking_{0};
  std::atomic<bool> telling_{false};
  std::atomic<bool> told_{false};
};

// Any thread, signal-safe.
class Sleepers {
 public:
  Sleepers(Transport& transport, WaitingPolicy policy) noexcept
      : transport_(transport),
        attendance_(transport),
        spin_checks_(policy.spin_checks),
        yields_max_(policy.yields) {}

  // Returns when progress() does something, `ready` is true, or wake() is called; first spins, then yields,
  // then sleeps, by the policy. Result: whether it slept, and so may have consumed a call that was meant for
  // the rank.
  template <typename Progress>
  bool wait(const std::atomic<bool>& ready, Progress progress) noexcept {
    const std::uint32_t bell = bell_of(ready);
    const auto is_over = [&] {
      return ready.load(std::memory_order_acquire) || bell_of(ready) != bell || progress();
    };
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
  // The bell of the thread that waits for `ready`.
  std::uint32_t bell_of(const std::atomic<bool>& ready) const noexcept {
    return rings_[place_of(&ready)].load() + calls_.load();
  }
  // The last part of wait(), for a caller that read its bell before it looked.
  void sleep(const std::atomic<bool>& ready, std::uint32_t bell) noexcept;
  // Makes every thread return from wait() and sleep().
  void wake() noexcept;
  // Makes the thread that waits for `ready` return. Only the address is used.
  void wake_waiter(const std::atomic<bool>* ready) noexcept;
  // Work has arrived for any polling thread. `urgent`: wakes the service thread if no thread waits.
  void call(bool urgent) noexcept;

  // Waits for `done()` without sleeping. Result: whether it became true.
  template <typename Done>
  bool watch(Done done) noexcept {
    for (std::uint32_t i = spin_checks_.load(std::memory_order_relaxed); i != 0; --i) {
      if (done()) return true;
      os::pause_instruction();
    }
    return done() || yields_.yield_until(yields_max_.load(std::memory_order_relaxed), done);
  }

 private:
  // Result: whether the wait is over.
  template <typename IsOver>
  bool spins_until(const std::atomic<bool>& ready, std::uint32_t bell, IsOver is_over) noexcept {
    PollScope<Attendance> looks(&attendance_);
    for (std::uint32_t i = spin_checks_.load(std::memory_order_relaxed); i != 0; --i) {
      if (i % checks_per_poll == 0) {
        if (is_over()) return true;
        looks.begin();
      }
      if (ready.load(std::memory_order_acquire) || bell_of(ready) != bell) return true;
      os::pause_instruction();
    }
    return false;
  }
  // Wakes one sleeper to become the watcher.
  void hand_on() noexcept;

  // A poll takes one or several system calls, whereas the policy counts reads of memory.
  static constexpr std::uint32_t checks_per_poll = 8;

  static constexpr std::size_t places = 64;
  static std::size_t place_of(const std::atomic<bool>* ready) noexcept {
    constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(ready) * golden >> 58);
  }
  void ring(std::size_t place, std::uint32_t most) noexcept;

  Transport& transport_;
  Attendance attendance_;
  std::atomic<std::uint32_t> spin_checks_, yields_max_;
  std::atomic<std::uint32_t> calls_{0};                           // of wake() and call()
  std::array<std::atomic<std::uint32_t>, places> rings_{};        // futex words
  std::array<std::atomic<std::uint32_t>, places> sleepers_at_{};  // sleeping or about to sleep, by futex
  std::atomic<std::uint32_t> sleepers_{0};                        // the sum of sleepers_at_
  std::atomic<std::uint32_t> next_{0};                            // where hand_on() looks first
  std::atomic<const std::atomic<bool>*> watcher_{nullptr};        // `ready` of the watcher
  os::YieldMeter yields_;
};

}  // namespace musubi::fabric
