// Part of musubi.hpp: atomic operations on words of shared memory, in the manner of std::atomic_ref.
//
//     const musubi::atomic_ref next(board->next);
//     for (long i = next.fetch_add(1); i < count; i = next.fetch_add(1)) work(i);
#pragma once

#include <musubi/atomics.h>
#include <musubi/cpp/error.hpp>

#include <bit>
#include <cstdint>
#include <type_traits>

namespace musubi {

// A word of 4 or 8 bytes in shared memory. Each operation acts on the newest value in the job, and all
// ranks see the operations on one word in one order. They do not order other memory; musubi::flush does.
// They may wait for a reply from the home of the word, and cost microseconds over a network. fetch_add is
// for integers. Throw error (MUSUBI_ERROR_ADDRESS, MUSUBI_ERROR_ALIGNMENT, MUSUBI_ERROR_STATE).
template <class T>
class atomic_ref {
  static_assert(std::is_trivially_copyable_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "a word has 4 or 8 bytes");
  static constexpr bool is_long = sizeof(T) == 8;
  using Word = std::conditional_t<is_long, std::uint64_t, std::uint32_t>;

 public:
  explicit atomic_ref(T& word) noexcept : word_(reinterpret_cast<Word*>(&word)) {}

  T load() const {
    Word value = 0;
    if constexpr (is_long) {
      require(musubi_atomic_load_64(word_, &value));
    } else {
      require(musubi_atomic_load_32(word_, &value));
    }
    return std::bit_cast<T>(value);
  }
  void store(T value) const {
    if constexpr (is_long) {
      require(musubi_atomic_store_64(word_, std::bit_cast<Word>(value)));
    } else {
      require(musubi_atomic_store_32(word_, std::bit_cast<Word>(value)));
    }
  }
  T fetch_add(T amount) const {
    static_assert(std::is_integral_v<T>, "fetch_add is for integers");
    Word old = 0;
    if constexpr (is_long) {
      require(musubi_atomic_fetch_add_64(word_, static_cast<Word>(amount), &old));
    } else {
      require(musubi_atomic_fetch_add_32(word_, static_cast<Word>(amount), &old));
    }
    return static_cast<T>(old);
  }
  // Stores `desired` if the word equals `expected`, bit by bit; otherwise copies the word to `expected`.
  // Result: whether it stored.
  bool compare_exchange(T& expected, T desired) const {
    const Word wanted = std::bit_cast<Word>(expected);
    Word old = 0;
    if constexpr (is_long) {
      require(musubi_atomic_compare_swap_64(word_, wanted, std::bit_cast<Word>(desired), &old));
    } else {
      require(musubi_atomic_compare_swap_32(word_, wanted, std::bit_cast<Word>(desired), &old));
    }
    expected = std::bit_cast<T>(old);
    return old == wanted;
  }

 private:
  Word* word_;
};

}  // namespace musubi
