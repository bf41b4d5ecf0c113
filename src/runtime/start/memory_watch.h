// Keeps a job within the available memory: it ends with a message before the kernel kills one of its
// processes for lack of memory.
//
// The shared blocks of a rank take pages of its memory files, which the kernel counts. A fault creates at
// most two pages for each page that it opens: the rank's own and its public copy. A check is therefore due
// only when faults have opened as much as was left.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace musubi::runtime {

class MemoryWatch {
 public:
  // Files of the rank's own memory, public copies, and words.
  using Files = std::array<int, 3>;
  // Memory that all processes of the machine or control group can still get; empty: unknown.
  using BytesLeft = std::function<std::optional<std::uint64_t>()>;

  // Without `bytes_max` the machine is the limit. `ranks`: those of this host, which share it.
  MemoryWatch(const Files& files, std::optional<std::uint64_t> bytes_max, std::uint32_t ranks,
              BytesLeft bytes_left);

  enum class Verdict : std::uint8_t {
    go_on,
    look,  // memory runs short: a thread outside the fault handler should free excess(), then call shortage()
    stop,  // the rank holds more than bytes_max: make room first, or report limit_message()
  };
  // A fault is about to open at most `bytes`. Any thread, also inside a fault handler.
  Verdict opening(std::size_t bytes) noexcept;

  // Whether a caller got `look` and shortage() has not been called since. Any thread.
  bool is_due() const noexcept { return due_.load(std::memory_order_relaxed); }
  // The bytes that should be freed so that faults need not wait (0 while there is room), and the most that
  // the rank should hold. Not inside a fault handler.
  std::uint64_t excess() const;
  std::uint64_t bytes_wanted_at_most() const;
  // Whether the rank holds more than `bytes_max`. Any thread.
  bool is_over() const noexcept { return bytes_max_ && bytes_held() > *bytes_max_; }
  // Checks the machine; needed only without `bytes_max`. Result: empty, or the message with which the job
  // should end. One thread; not inside a fault handler.
  std::string shortage();

  // Of all files. Any thread, signal-safe.
  std::uint64_t bytes_held() const noexcept;

  // The message for `stop`, made without allocation: inside a fault handler there may be no memory.
  struct Line {
    char text[320];
  };
  Line limit_message() const noexcept;

 private:
  const Files files_;
  const std::optional<std::uint64_t> bytes_max_;
  const std::uint64_t slack_;  // distance from the limit at which freeing starts; it goes on to twice that
  const std::uint32_t ranks_;
  const BytesLeft bytes_left_;
  std::atomic<std::uint64_t> opened_;
  std::atomic<std::uint64_t> look_at_;  // a check is due when this much has been opened
  std::atomic<bool> due_{false};
};

}  // namespace musubi::runtime
