#include "os/own_files.h"

#include <array>
#include <atomic>
#include <cstdint>

namespace musubi::os {
namespace {

// One bit per descriptor number. Larger numbers are rare and not protected.
constexpr unsigned noted_numbers = 65536, numbers_per_word = 64;
constinit std::array<std::atomic<std::uint64_t>, noted_numbers / numbers_per_word> own_files{};

std::uint64_t bit_of(unsigned number) noexcept {
  return std::uint64_t{1} << number % numbers_per_word;
}

}  // namespace

void note_own_file(int number, bool is_own) noexcept {
  const auto index = static_cast<unsigned>(number);
  if (index >= noted_numbers) return;
  std::atomic<std::uint64_t>& word = own_files[index / numbers_per_word];
  if (is_own) {
    word.fetch_or(bit_of(index));
  } else {
    word.fetch_and(~bit_of(index));
  }
}

bool is_own_file(int number) noexcept {
  const auto index = static_cast<unsigned>(number);
  return index < noted_numbers &&
         (own_files[index / numbers_per_word].load(std::memory_order_relaxed) & bit_of(index)) != 0;
}

}  // namespace musubi::os
