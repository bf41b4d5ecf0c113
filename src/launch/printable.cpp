#include "launch/printable.h"

#include <algorithm>
#include <bit>

namespace musubi::launch {
namespace {

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80;
}

// Size of the first character of `text`; 0: it must not be shown.
std::size_t shown_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return (first >= ' ' && first != 0x7f) || first == '\n' || first == '\t' ? 1 : 0;
  const auto bytes = static_cast<std::size_t>(std::countl_one(first));
  if (bytes < 2 || bytes > 4 || text.size() < bytes) return 0;
  if (!std::ranges::all_of(text.substr(1, bytes - 1), is_continuation)) return 0;
  const bool is_control = first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
  // Overlong forms encode bytes that are refused above.
  const bool is_overlong = first < 0xc2 || (first == 0xe0 && static_cast<unsigned char>(text[1]) < 0xa0) ||
                           (first == 0xf0 && static_cast<unsigned char>(text[1]) < 0x90);
  return is_control || is_overlong ? 0 : bytes;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t bytes = shown_bytes(text);
    shown += bytes == 0 ? std::string_view("?") : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return shown;
}

}  // namespace musubi::launch
