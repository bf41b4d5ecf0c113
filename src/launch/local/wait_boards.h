// The memory in which ranks record the waits of their threads: created by the launcher; each rank maps its
// own part (bootstrap/local/inherited_memory.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "os/memory.h"
#include "trace/wait_records.h"

namespace musubi::launch {

class WaitBoards {
 public:
  // Errors: no memory file.
  static Result<WaitBoards> make(std::uint32_t ranks);
  WaitBoards(WaitBoards&& other) noexcept;
  WaitBoards& operator=(WaitBoards&&) = delete;
  ~WaitBoards();

  int file() const { return file_.number(); }
  std::uint32_t ranks() const { return ranks_; }
  const trace::WaitBoard& operator[](Rank rank) const;

 private:
  WaitBoards(os::FileDescriptor file, const std::byte* boards, std::uint32_t ranks)
      : file_(std::move(file)), boards_(boards), ranks_(ranks) {}

  os::FileDescriptor file_;
  const std::byte* boards_;
  std::uint32_t ranks_;
};

}  // namespace musubi::launch
