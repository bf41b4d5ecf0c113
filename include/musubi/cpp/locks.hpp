// Part of musubi.hpp: locks and conditions, with the member functions of those of the standard library.
//
//     musubi::mutex lock(0);
//     musubi::condition changed(0);
//     std::unique_lock held(lock);
//     changed.wait(held, [&] { return queue->length > 0; });
//     --queue->length;
#pragma once

#include <musubi/cpp/error.hpp>
#include <musubi/synchronization.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace musubi {

// Lock `number` of the job (below MUSUBI_LOCK_COUNT): objects with the same number are one lock, on any
// ranks. For std::lock_guard, std::unique_lock, std::scoped_lock. Not recursive; the thread that took the
// lock releases it. lock() blocks; try_lock() waits for no holder. The holder sees the writes of earlier
// holders. Throws error (MUSUBI_ERROR_LOCK, MUSUBI_ERROR_HELD, MUSUBI_ERROR_STATE); unlock() by a thread
// that does not hold the lock throws, too (MUSUBI_ERROR_NOT_HELD).
class mutex {
 public:
  explicit constexpr mutex(std::uint32_t number) noexcept : number_(number) {}
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  void lock() { require(musubi_lock(number_)); }
  bool try_lock() {
    const int result = musubi_trylock(number_);
    if (result == MUSUBI_BUSY) return false;
    require(result);
    return true;
  }
  void unlock() { require(musubi_unlock(number_)); }
  std::uint32_t number() const noexcept { return number_; }

 private:
  std::uint32_t number_;
};

// The same for many readers or one writer (numbers below MUSUBI_RWLOCK_COUNT, apart from those of mutex).
// For std::shared_lock and std::unique_lock. First come, first served.
class shared_mutex {
 public:
  explicit constexpr shared_mutex(std::uint32_t number) noexcept : number_(number) {}
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  void lock() { require(musubi_wrlock(number_)); }
  bool try_lock() { return taken(musubi_trywrlock(number_)); }
  void unlock() { require(musubi_rwunlock(number_)); }
  void lock_shared() { require(musubi_rdlock(number_)); }
  bool try_lock_shared() { return taken(musubi_tryrdlock(number_)); }
  void unlock_shared() { require(musubi_rwunlock(number_)); }
  std::uint32_t number() const noexcept { return number_; }

 private:
  static bool taken(int result) {
    if (result == MUSUBI_BUSY) return false;
    require(result);
    return true;
  }

  std::uint32_t number_;
};

// Condition `number` of the job (below MUSUBI_COND_COUNT). A signal that another thread gives after it has
// held the lock is not lost. A thread may also wake without a signal: wait in a loop or with a predicate.
// wait() and wait_for() block. Throws error (MUSUBI_ERROR_LOCK, MUSUBI_ERROR_NOT_HELD, MUSUBI_ERROR_STATE).
class condition {
 public:
  explicit constexpr condition(std::uint32_t number) noexcept : number_(number) {}
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;

  void wait(std::unique_lock<mutex>& lock) { require(musubi_cond_wait(number_, lock.mutex()->number())); }
  template <class Predicate>
  void wait(std::unique_lock<mutex>& lock, Predicate holds) {
    while (!holds()) wait(lock);
  }
  template <class Rep, class Period>
  std::cv_status wait_for(std::unique_lock<mutex>& lock, std::chrono::duration<Rep, Period> timeout) {
    const int result = musubi_cond_timedwait(number_, lock.mutex()->number(), nanoseconds_of(timeout));
    if (result == MUSUBI_TIMEOUT) return std::cv_status::timeout;
    require(result);
    return std::cv_status::no_timeout;
  }
  void notify_one() { require(musubi_cond_signal(number_)); }
  void notify_all() { require(musubi_cond_broadcast(number_)); }

 private:
  // A timeout that does not fit waits forever.
  template <class Rep, class Period>
  static std::uint64_t nanoseconds_of(std::chrono::duration<Rep, Period> timeout) {
    using std::chrono::nanoseconds;
    using Real = std::chrono::duration<double, std::nano>;
    if (!(timeout > timeout.zero())) return 0;  // not a number, too
    if (Real(timeout) >= Real(nanoseconds::max())) return static_cast<std::uint64_t>(-1);
    return static_cast<std::uint64_t>(std::chrono::duration_cast<nanoseconds>(timeout).count());
  }

  std::uint32_t number_;
};

}  // namespace musubi
