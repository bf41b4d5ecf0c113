#include "bootstrap/local/inherited_file.h"

#include <unistd.h>

#include <string>
#include <string_view>

namespace musubi::bootstrap::local {

bool is_memory_file(int file, const char* name) noexcept {
  const std::string expected = std::string("/memfd:") + name + " (deleted)";
  char target[128];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
  return length >= 0 && std::string_view(target, static_cast<std::size_t>(length)) == expected;
}

}  // namespace musubi::bootstrap::local
