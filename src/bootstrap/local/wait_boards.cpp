#include "bootstrap/local/wait_boards.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "bootstrap/local/inherited_file.h"

namespace musubi::bootstrap::local {
namespace {

constexpr const char* file_name = "musubi-waits";
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t board_bytes = (sizeof(trace::WaitBoard) + page_bytes - 1) / page_bytes * page_bytes;

}  // namespace

Result<WaitBoards> WaitBoards::make(std::uint32_t ranks) {
  os::FileDescriptor file(::memfd_create(file_name, MFD_CLOEXEC));
  const std::size_t bytes = ranks * board_bytes;
  if (file.number() >= 0 && ::ftruncate(file.number(), static_cast<off_t>(bytes)) == 0) {
    void* mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file.number(), 0);
    if (mapped != MAP_FAILED)
      return WaitBoards(std::move(file), static_cast<const std::byte*>(mapped), ranks);
  }
  return Error{std::string("cannot make a memory file: ") + std::strerror(errno)};
}

WaitBoards::WaitBoards(WaitBoards&& other) noexcept
    : file_(std::move(other.file_)), boards_(std::exchange(other.boards_, nullptr)), ranks_(other.ranks_) {}

WaitBoards::~WaitBoards() {
  if (boards_ != nullptr) ::munmap(const_cast<std::byte*>(boards_), ranks_ * board_bytes);
}

const trace::WaitBoard& WaitBoards::operator[](Rank rank) const {
  return *reinterpret_cast<const trace::WaitBoard*>(boards_ + rank.value * board_bytes);
}

trace::WaitBoard* WaitBoards::open(int file, Rank rank) noexcept {
  if (!is_memory_file(file, file_name)) return nullptr;
  os::FileDescriptor descriptor(file);
  void* mapped = ::mmap(nullptr, board_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                        static_cast<off_t>(rank.value * board_bytes));
  return mapped == MAP_FAILED ? nullptr : static_cast<trace::WaitBoard*>(mapped);
}

}  // namespace musubi::bootstrap::local
