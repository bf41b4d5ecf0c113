// Keeps a job from using more memory than there is: it ends with a line that says so, before the kernel kills
// one of its processes for want of memory.
//
// The memory that a rank takes for shared blocks is pages of its memory files, and the kernel counts these. A
// fault brings at most two pages into being for each that it opens: the rank's own and its public copy. So it
// is enough to look again when faults have opened as much as was left.
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
  // Pages of these, by file: the rank's own memory, public copies, words.
  using Files = std::array<int, 3>;
  // Memory that all processes of the machine or control group can still get; empty: not known.
  using BytesLeft = std::function<std::optional<std::uint64_t>()>;

  // Without `bytes_max` the machine is the limit. `ranks`: of this host, all of which take from it.
  MemoryWatch(const Files& files, std::optional<std::uint64_t> bytes_max, std::uint32_t ranks,
              BytesLeft bytes_left);

  enum class Verdict : std::uint8_t {
    go_on,
    look,  // memory gets short: somebody outside the fault handler should free excess(), then call shortage()
    stop,  // the rank holds more than it may: room must be made first, or limit_message() says why it cannot
  };
  // A fault is about to open `bytes` at most. Any thread, also inside a fault handler.
  Verdict opening(std::size_t bytes) noexcept;

  // Whether some caller got the answer `look`, and nobody has looked since. Any thread.
  bool is_due() const noexcept { return due_.load(std::memory_order_relaxed); }
  // How much should be freed, so that faults need not wait for it; 0 while there is room. And how much the
  // rank should hold at most. Not inside a fault handler.
  std::uint64_t excess() const;
  std::uint64_t bytes_wanted_at_most() const;
  // Whether the rank holds more than `bytes_max`. Any thread.
  bool is_over() const noexcept { return bytes_max_ && bytes_held() > *bytes_max_; }
  // Looks at the machine; of use without `bytes_max`. Result: empty, or the line with which the job should
  // end. One thread; not inside a fault handler.
  std::string shortage();

  // Of all files. Any thread, signal-safe.
  std::uint64_t bytes_held() const noexcept;

  // The line for `stop`, without a byte of memory: inside a fault handler there may be none.
  struct Line {
    char text[320];
  };
  Line limit_message() const noexcept;

 private:
  const Files files_;
  const std::optional<std::uint64_t> bytes_max_;
  const std::uint64_t slack_;  // below what is allowed: from here on room is made, down to twice as much
  const std::uint32_t ranks_;
  const BytesLeft bytes_left_;
  std::atomic<std::uint64_t> opened_;
  std::atomic<std::uint64_t> look_at_;  // when as much is opened
  std::atomic<bool> due_{false};
};

}  // namespace musubi::runtime
