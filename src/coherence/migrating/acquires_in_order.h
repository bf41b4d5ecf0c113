// Numbers of the acquires in order (coherence/ordering.h): what came while one was under way is covered by
// the next one that begins.
#pragma once

#include <atomic>
#include <cstdint>

namespace musubi::coherence::migrating {

class AcquiresInOrder {
 public:
  // Result: its number.
  std::uint32_t begin() noexcept { return begun_.fetch_add(1) + 1; }
  // It has ended, and with it all that began before.
  void end(std::uint32_t number) noexcept {
    std::uint32_t seen = ended_.load();
    while (is_later(number, seen) && !ended_.compare_exchange_weak(seen, number)) {
    }
  }

  // For bytes that come now. Never 0.
  std::uint32_t begun() const noexcept { return begun_.load(); }
  // Whether an acquire that began after `came_in` has ended; 0 stands for what never came.
  bool has_covered(std::uint32_t came_in) const noexcept {
    return came_in == 0 || is_later(ended_.load(), came_in);
  }
  // Whether the acquire `number` began after that.
  static bool is_later(std::uint32_t number, std::uint32_t came_in) noexcept {
    return static_cast<std::int32_t>(number - came_in) > 0;
  }

 private:
  std::atomic<std::uint32_t> begun_{1};
  std::atomic<std::uint32_t> ended_{0};  // the newest one that has
};

}  // namespace musubi::coherence::migrating
