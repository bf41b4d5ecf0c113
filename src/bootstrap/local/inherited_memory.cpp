#include "bootstrap/local/inherited_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "os/memory.h"

namespace musubi::bootstrap::local {
namespace {

// The program may have closed the descriptor and reused its number for another file.
bool is_memory_file(int file, const char* name) noexcept {
  const std::string expected = std::string("/memfd:") + name + " (deleted)";
  char target[128];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
  return length >= 0 && std::string_view(target, static_cast<std::size_t>(length)) == expected;
}

}  // namespace

trace::WaitBoard* open_wait_board(int file, Rank rank) noexcept {
  if (!is_memory_file(file, wait_boards_name)) return nullptr;
  os::FileDescriptor descriptor(file);
  void* mapped = ::mmap(nullptr, wait_board_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                        static_cast<off_t>(rank.value * wait_board_bytes));
  return mapped == MAP_FAILED ? nullptr : static_cast<trace::WaitBoard*>(mapped);
}

trace::EventLog open_event_log(int file, Rank rank, std::uint32_t ranks) noexcept {
  struct stat status {};
  if (!is_memory_file(file, event_logs_name) || ::fstat(file, &status) != 0) return {};
  const os::FileDescriptor descriptor(file);
  const std::size_t bytes = static_cast<std::size_t>(status.st_size) / ranks;
  auto memory = os::Mapping::anywhere(bytes, os::Protection::read_write, {file, rank.value * bytes});
  if (!memory) return {};
  return {memory.value().release(), trace::EventLog::events_in(bytes)};
}

}  // namespace musubi::bootstrap::local
