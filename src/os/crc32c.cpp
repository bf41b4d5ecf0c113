// The x86 instruction has a latency of three cycles and a throughput of one per cycle, so long stretches are
// summed as three interleaved parts. Combining two parts appends as many zeros to the first as the second has
// bytes: a linear map of 32 bits, taken from tables.
#include "os/crc32c.h"

#include <array>
#include <cstring>

namespace musubi::os {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // bit-reversed
constexpr std::size_t word_bytes = 8;

using Table = std::array<std::uint32_t, 256>;

// Table n: the sum of the byte followed by n zero bytes, n = 0 to 7.
constexpr std::array<Table, word_bytes> make_tables() {
  std::array<Table, word_bytes> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ ((sum & 1) != 0 ? polynomial : 0);
    tables[0][byte] = sum;
  }
  for (std::size_t zeros = 1; zeros < word_bytes; ++zeros) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[zeros - 1][byte];
      tables[zeros][byte] = before >> 8 ^ tables[0][before & 0xff];
    }
  }
  return tables;
}
constexpr std::array<Table, word_bytes> tables = make_tables();

std::uint64_t load_word(const unsigned char* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

#if defined(__x86_64__)

constexpr std::size_t part_bytes = 1024;

// A sum after part_bytes more zeros, for each value of each of its bytes.
using Shift = std::array<Table, 4>;
constexpr Shift make_shift() {
  Shift shift{};
  std::array<std::uint32_t, 32> of_bit{};
  for (std::uint32_t bit = 0; bit < 32; ++bit) {
    std::uint32_t sum = std::uint32_t{1} << bit;
    for (std::size_t i = 0; i < part_bytes; ++i) sum = sum >> 8 ^ tables[0][sum & 0xff];
    of_bit[bit] = sum;
  }
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    for (std::uint32_t value = 0; value < 256; ++value) {
      for (std::uint32_t bit = 0; bit < 8; ++bit) {
        if ((value >> bit & 1) != 0) shift[byte][value] ^= of_bit[8 * byte + bit];
      }
    }
  }
  return shift;
}
constexpr Shift shift_of_part = make_shift();

std::uint32_t behind_part(std::uint32_t sum) noexcept {
  return shift_of_part[0][sum & 0xff] ^ shift_of_part[1][sum >> 8 & 0xff] ^
         shift_of_part[2][sum >> 16 & 0xff] ^ shift_of_part[3][sum >> 24];
}

[[gnu::target("sse4.2")]] std::uint32_t by_instruction(std::uint32_t before, const unsigned char* from,
                                                       std::size_t count) noexcept {
  std::uint64_t sum = ~before;
  for (; count >= 3 * part_bytes; count -= 3 * part_bytes, from += 3 * part_bytes) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < part_bytes; i += word_bytes) {
      sum = __builtin_ia32_crc32di(sum, load_word(from + i));
      second = __builtin_ia32_crc32di(second, load_word(from + part_bytes + i));
      third = __builtin_ia32_crc32di(third, load_word(from + 2 * part_bytes + i));
    }
    const std::uint32_t both =
        behind_part(static_cast<std::uint32_t>(sum)) ^ static_cast<std::uint32_t>(second);
    sum = behind_part(both) ^ third;
  }
  for (; count >= word_bytes; count -= word_bytes, from += word_bytes) {
    sum = __builtin_ia32_crc32di(sum, load_word(from));
  }
  auto rest = static_cast<std::uint32_t>(sum);
  for (; count != 0; --count) rest = __builtin_ia32_crc32qi(rest, *from++);
  return ~rest;
}

#endif

}  // namespace

std::uint32_t crc32c_by_table(std::uint32_t before, const void* bytes, std::size_t count) noexcept {
  const auto* from = static_cast<const unsigned char*>(bytes);
  std::uint32_t sum = ~before;
  for (; count >= word_bytes; count -= word_bytes, from += word_bytes) {
    const std::uint64_t word = load_word(from) ^ sum;
    sum = 0;
    for (unsigned byte = 0; byte < word_bytes; ++byte) {
      sum ^= tables[word_bytes - 1 - byte][word >> (8 * byte) & 0xff];
    }
  }
  for (; count != 0; --count) sum = sum >> 8 ^ tables[0][(sum ^ *from++) & 0xff];
  return ~sum;
}

std::uint32_t crc32c(std::uint32_t before, const void* bytes, std::size_t count) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) {
    return by_instruction(before, static_cast<const unsigned char*>(bytes), count);
  }
#endif
  return crc32c_by_table(before, bytes, count);
}

}  // namespace musubi::os
