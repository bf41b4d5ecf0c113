// The changes of a rank to a block, as they travel to the home: runs of bytes, in the order of their places
// (docs/decisions/many_writers.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace musubi::coherence::migrating {

// Bytes [begin, begin + bytes) of the block; they follow. If the twin is sent, too, all words that the run
// touches follow instead: as the sender has them, then as its twin has them.
struct ChangedRun {
  std::uint32_t begin;
  std::uint16_t bytes;
  std::uint16_t check;  // of the twin's bytes of the run
};

// Equal bytes have equal checks; different bytes mostly have different ones.
std::uint16_t check_of(std::span<const std::byte> bytes) noexcept;

enum class Twin : std::uint8_t { left_out, sent };

// Takes the runs of a message one by one.
class ChangedRuns {
 public:
  struct Run {
    std::size_t begin;  // in the block
    std::uint16_t check;
    std::span<const std::byte> bytes;
    std::size_t words_begin;                           // in the block
    std::span<const std::byte> own_words, twin_words;  // where the twin is sent
    std::size_t end() const { return begin + bytes.size(); }
  };

  ChangedRuns(std::span<const std::byte> message, std::size_t block_bytes, Twin twin) noexcept
      : left_(message), block_bytes_(block_bytes), twin_(twin) {}

  // Result: false if nothing is left, or no run of the block.
  bool take(Run& run) noexcept;
  bool empty() const noexcept { return left_.empty(); }

  // Writes the run of the bytes from `begin` to `end` of a block to a message. Result: how many bytes it has.
  static std::size_t write(std::byte* message, std::size_t begin, std::size_t end,
                           std::span<const std::byte> own_block, std::span<const std::byte> twin_block,
                           Twin twin) noexcept;
  // How many bytes of a run fit into a message that has `room`.
  static std::size_t bytes_in(std::size_t room, Twin twin) noexcept;

 private:
  bool take_bytes(std::size_t bytes, std::span<const std::byte>& taken) noexcept;

  std::span<const std::byte> left_;
  const std::size_t block_bytes_;
  const Twin twin_;
};

}  // namespace musubi::coherence::migrating
