// Counters: always on, one relaxed add each. One Counters object belongs to one rank.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace musubi::trace {

enum class Counter : std::size_t {
#define MUSUBI_COUNTER(name, meaning) name,
#include "trace/counters.def"
#undef MUSUBI_COUNTER
  count
};

inline constexpr std::size_t counter_count = static_cast<std::size_t>(Counter::count);

struct CounterText {
  const char* name;
  const char* meaning;
};

inline constexpr std::array<CounterText, counter_count> counter_texts{{
#define MUSUBI_COUNTER(name, meaning) {#name, meaning},
#include "trace/counters.def"
#undef MUSUBI_COUNTER
}};

class Counters {
 public:
  // Any thread.
  void add(Counter counter, std::uint64_t amount = 1) noexcept {
    values_[static_cast<std::size_t>(counter)].fetch_add(amount, std::memory_order_relaxed);
  }
  std::uint64_t get(Counter counter) const noexcept {
    return values_[static_cast<std::size_t>(counter)].load(std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<std::uint64_t>, counter_count> values_{};
};

}  // namespace musubi::trace
