#include "runtime/start/memory_watch.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace musubi::runtime {
namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;
// A check costs a microsecond, or some hundred if it reads the machine's state.
constexpr std::uint64_t look_least = MiB;
constexpr std::uint64_t look_first = 16 * MiB;
constexpr std::uint64_t copies_of_block = 2;
// Memory that must stay free so that the job can end in order.
constexpr std::uint64_t reserve_bytes = 64 * MiB;
// Freed in batches: a sixteenth of bytes_max, or slack_of_machine if the machine is the limit.
constexpr std::uint64_t slack_share = 16;
constexpr std::uint64_t slack_of_machine = 64 * MiB;

std::uint64_t bytes_of(int file) noexcept {
  struct stat status {};
  constexpr std::uint64_t unit = 512;  // unit of st_blocks on every file system
  return ::fstat(file, &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * unit : 0;
}

unsigned long in_mebibytes(std::uint64_t bytes) {
  return static_cast<unsigned long>((bytes + MiB - 1) / MiB);
}

}  // namespace

MemoryWatch::MemoryWatch(const Files& files, std::optional<std::uint64_t> bytes_max, std::uint32_t ranks,
                         BytesLeft bytes_left)
    : files_(files),
      bytes_max_(bytes_max),
      slack_(bytes_max ? *bytes_max / slack_share : slack_of_machine),
      ranks_(ranks),
      bytes_left_(std::move(bytes_left)),
      opened_(0),
      look_at_(bytes_max ? 0 : look_first) {}

MemoryWatch::Verdict MemoryWatch::opening(std::size_t bytes) noexcept {
  const std::uint64_t amount = copies_of_block * bytes;
  const std::uint64_t opened = opened_.fetch_add(amount, std::memory_order_relaxed) + amount;
  if (opened < look_at_.load(std::memory_order_relaxed)) return Verdict::go_on;
  if (!bytes_max_) {
    due_.store(true, std::memory_order_relaxed);
    // Each check sets the time of the next one; until then callers need not wake it again.
    look_at_.store(opened + look_first, std::memory_order_relaxed);
    return Verdict::look;
  }
  const std::uint64_t held = bytes_held();
  if (held > *bytes_max_) return Verdict::stop;
  const std::uint64_t high = *bytes_max_ - slack_;
  const std::uint64_t left = held < high ? high - held : *bytes_max_ - held;
  look_at_.store(opened + std::max(look_least, left), std::memory_order_relaxed);
  return held < high ? Verdict::go_on : Verdict::look;
}

std::uint64_t MemoryWatch::excess() const {
  const std::uint64_t held = bytes_held(), most = bytes_wanted_at_most();
  return held > most ? held - most + slack_ : 0;
}

// If the machine is the limit, each rank of the host has an equal share of the memory left beyond the
// reserve.
std::uint64_t MemoryWatch::bytes_wanted_at_most() const {
  if (bytes_max_) return *bytes_max_ - slack_;
  const std::optional<std::uint64_t> left = bytes_left_();
  if (!left) return UINT64_MAX / 2;  // unknown
  const std::uint64_t held = bytes_held(), kept = reserve_bytes + slack_;
  if (*left >= kept) return held + (*left - kept) / ranks_;
  return held - std::min(held, (kept - *left) / ranks_);
}

std::string MemoryWatch::shortage() {
  due_.store(false, std::memory_order_relaxed);
  const std::optional<std::uint64_t> left = bytes_left_();
  if (!left) {  // never again
    look_at_.store(UINT64_MAX, std::memory_order_relaxed);
    return {};
  }
  if (*left >= reserve_bytes) {
    const std::uint64_t share = (*left - reserve_bytes) / (copies_of_block * ranks_);
    look_at_.store(opened_.load(std::memory_order_relaxed) + std::max(look_least, share),
                   std::memory_order_relaxed);
    return {};
  }
  return "out of memory: the machine or its control group has " + std::to_string(in_mebibytes(*left)) +
         " MiB left, and this rank holds " + std::to_string(in_mebibytes(bytes_held())) +
         " MiB of shared memory; give the job more memory, less data, or fewer ranks (`musubi doctor` shows "
         "the limits), or set memory_max to go on until the kernel ends it";
}

std::uint64_t MemoryWatch::bytes_held() const noexcept {
  std::uint64_t bytes = 0;
  for (const int file : files_) bytes += bytes_of(file);
  return bytes;
}

MemoryWatch::Line MemoryWatch::limit_message() const noexcept {
  Line line;
  std::snprintf(line.text, sizeof line.text,
                "out of memory: this rank holds %lu MiB of shared memory (%lu of its own copy, %lu of public "
                "copies, %lu of tables) and memory_max allows %lu; raise it (--set memory_max=...), or give "
                "the rank less data",
                in_mebibytes(bytes_held()), in_mebibytes(bytes_of(files_[0])),
                in_mebibytes(bytes_of(files_[1])), in_mebibytes(bytes_of(files_[2])),
                in_mebibytes(*bytes_max_));
  return line;
}

}  // namespace musubi::runtime
