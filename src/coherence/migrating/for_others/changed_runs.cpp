#include "coherence/migrating/for_others/changed_runs.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace musubi::coherence::migrating {
namespace {

constexpr std::size_t word = sizeof(std::uint64_t);

struct Words {
  std::size_t begin, end;
};

// The words that the bytes from `begin` to `end` touch, as far as the block has them.
Words words_around(std::size_t begin, std::size_t end, std::size_t block_bytes) noexcept {
  return {begin / word * word, std::min((end + word - 1) / word * word, block_bytes)};
}

}  // namespace

std::uint16_t check_of(std::span<const std::byte> bytes) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  std::uint64_t sum = bytes.size();
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), word);
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), count);
    sum = (sum ^ value) * odd;
    sum ^= sum >> 32;
    bytes = bytes.subspan(count);
  }
  return static_cast<std::uint16_t>(sum >> 16);
}

bool ChangedRuns::take_bytes(std::size_t bytes, std::span<const std::byte>& taken) noexcept {
  if (bytes > left_.size()) return false;
  taken = left_.first(bytes);
  left_ = left_.subspan(bytes);
  return true;
}

bool ChangedRuns::take(Run& run) noexcept {
  std::span<const std::byte> bytes;
  ChangedRun head;
  if (!take_bytes(sizeof head, bytes)) return false;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.begin > block_bytes_ || head.bytes > block_bytes_ - head.begin) return false;
  run = {};
  run.begin = head.begin;
  run.check = head.check;
  if (twin_ == Twin::left_out) return take_bytes(head.bytes, run.bytes);
  const Words words = words_around(head.begin, head.begin + head.bytes, block_bytes_);
  run.words_begin = words.begin;
  if (!take_bytes(words.end - words.begin, run.own_words)) return false;
  run.bytes = run.own_words.subspan(head.begin - words.begin, head.bytes);
  return take_bytes(words.end - words.begin, run.twin_words);
}

std::size_t ChangedRuns::write(std::byte* message, std::size_t begin, std::size_t end,
                               std::span<const std::byte> own_block, std::span<const std::byte> twin_block,
                               Twin twin) noexcept {
  MUSUBI_CHECK(begin < end && end <= own_block.size() && own_block.size() == twin_block.size());
  MUSUBI_CHECK(end - begin <= UINT16_MAX);
  const ChangedRun head{static_cast<std::uint32_t>(begin), static_cast<std::uint16_t>(end - begin),
                        check_of(twin_block.subspan(begin, end - begin))};
  std::size_t written = 0;
  const auto add = [&](const void* from, std::size_t bytes) {
    std::memcpy(message + written, from, bytes);
    written += bytes;
  };
  add(&head, sizeof head);
  if (twin == Twin::left_out) {
    add(own_block.data() + begin, end - begin);
    return written;
  }
  const Words words = words_around(begin, end, own_block.size());
  add(own_block.data() + words.begin, words.end - words.begin);
  add(twin_block.data() + words.begin, words.end - words.begin);
  return written;
}

// Words begin and end up to a word less one byte further out than the run.
std::size_t ChangedRuns::bytes_in(std::size_t room, Twin twin) noexcept {
  constexpr std::size_t head = sizeof(ChangedRun), around = 2 * (word - 1);
  if (twin == Twin::left_out) return room > head ? room - head : 0;
  return room > head + 2 * around ? (room - head) / 2 - around : 0;
}

}  // namespace musubi::coherence::migrating
