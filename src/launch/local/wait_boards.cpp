#include "launch/local/wait_boards.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/cause.h"
#include "bootstrap/local/inherited_memory.h"

namespace musubi::launch {

using bootstrap::local::wait_board_bytes;
using bootstrap::local::wait_boards_name;

Result<WaitBoards> WaitBoards::make(std::uint32_t ranks) {
  os::FileDescriptor file(::memfd_create(wait_boards_name, MFD_CLOEXEC));
  const std::size_t bytes = ranks * wait_board_bytes;
  if (file.number() >= 0 && ::ftruncate(file.number(), static_cast<off_t>(bytes)) == 0) {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.number(), 0);
    if (mapped != MAP_FAILED)
      return WaitBoards(std::move(file), static_cast<const std::byte*>(mapped), ranks);
  }
  return Error{"cannot make a memory file: " + cause_of(errno)};
}

WaitBoards::WaitBoards(WaitBoards&& other) noexcept
    : file_(std::move(other.file_)), boards_(std::exchange(other.boards_, nullptr)), ranks_(other.ranks_) {}

WaitBoards::~WaitBoards() {
  if (boards_ != nullptr) ::munmap(const_cast<std::byte*>(boards_), ranks_ * wait_board_bytes);
}

const trace::WaitBoard& WaitBoards::operator[](Rank rank) const {
  return *reinterpret_cast<const trace::WaitBoard*>(boards_ + rank.value * wait_board_bytes);
}

}  // namespace musubi::launch
