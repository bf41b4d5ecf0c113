// When no thread of the rank runs program code: between the quiescent release of a barrier and the end of its
// acquire, and while the rank's only thread is in the runtime elsewhere. Open pages may change then.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::coherence::migrating {

// Each such time has a number, so that a finding of one time is not taken to hold in another.
class Quiescence {
 public:
  // The quiescent release and the acquire of a barrier; one at a time.
  void begin_barrier() noexcept { at_barrier_.store(++barriers_, std::memory_order_relaxed); }
  void end_barrier() noexcept { at_barrier_.store(0, std::memory_order_relaxed); }
  bool is_at_barrier() const noexcept { return at_barrier_.load() != 0; }
  std::uint32_t barriers() const noexcept { return barriers_; }

  void set_elsewhere(bool quiescent) noexcept {
    elsewhere_.store(quiescent ? numbers_elsewhere | ++times_ : 0);
  }

  // 0: threads may run program code.
  std::uint32_t number() const noexcept {
    const std::uint32_t at_barrier = at_barrier_.load();
    return at_barrier != 0 ? at_barrier : elsewhere_.load();
  }
  explicit operator bool() const noexcept { return number() != 0; }

 private:
  // From here on: none of them is the number of a barrier.
  static constexpr std::uint32_t numbers_elsewhere = 1u << 31;

  std::uint32_t barriers_ = 0;  // whose release has begun
  std::uint32_t times_ = 0;     // of the other kind
  std::atomic<std::uint32_t> at_barrier_{0};
  std::atomic<std::uint32_t> elsewhere_{0};
};

}  // namespace musubi::coherence::migrating
