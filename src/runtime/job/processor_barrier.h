// The barrier of ranks that map one memory: an arrival counter at rank 0. No release, no acquire. A barrier
// of several rounds (sync/barrier.h) would switch threads in each round if ranks outnumber the cores.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace musubi::runtime {

class ProcessorBarrier {
 public:
  using Payload = std::array<std::uint64_t, 6>;
  // Zeroed memory that all ranks map, aligned to `alignment`.
  static constexpr std::size_t bytes = 256;
  static constexpr std::size_t alignment = 64;

  ProcessorBarrier(std::byte* place, std::uint32_t ranks) noexcept
      : words_(reinterpret_cast<Words*>(place)), ranks_(ranks) {}

  // Blocks until all ranks have arrived; called by one thread of each rank at a time. `gives`: true on one
  // rank in each passage, whose payload all ranks get. `wait`(word, value): returns when the word differs, or
  // spuriously. `wake`(word): wakes all waiting threads.
  template <class Wait, class Wake>
  void pass(bool gives, Payload& payload, Wait wait, Wake wake) {
    const std::uint32_t passage = words_->passages.load(std::memory_order_relaxed);
    // Two buffers: no rank gives the payload after the next before all have taken this one.
    Payload& given = words_->payloads[passage % 2];
    if (gives) given = payload;
    if (words_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) {
      words_->arrived.store(0, std::memory_order_relaxed);
      words_->passages.store(passage + 1);
      if (words_->sleepers.load() != 0) wake(words_->passages);
    } else {
      wait(words_->passages, passage);
    }
    payload = given;
  }
  // Around each sleep of `wait`.
  void begin_sleep() noexcept { words_->sleepers.fetch_add(1); }
  void end_sleep() noexcept { words_->sleepers.fetch_sub(1, std::memory_order_relaxed); }

 private:
  struct Words {
    alignas(64) std::atomic<std::uint32_t> arrived;
    std::atomic<std::uint32_t> sleepers;
    alignas(64) std::atomic<std::uint32_t> passages;
    alignas(64) Payload payloads[2];
  };
  static_assert(sizeof(Words) <= bytes && alignof(Words) <= alignment);

  Words* words_;
  const std::uint32_t ranks_;
};

}  // namespace musubi::runtime
