#include "bootstrap/local/gathered.h"

#include <cstring>

namespace musubi::bootstrap::local {

std::vector<std::string> split_gathered(std::string_view text, std::uint32_t ranks) {
  std::vector<std::string> blobs;
  while (!text.empty()) {
    std::uint64_t bytes = 0;
    if (text.size() < sizeof bytes) return {};
    std::memcpy(&bytes, text.data(), sizeof bytes);
    text.remove_prefix(sizeof bytes);
    if (bytes > text.size()) return {};
    blobs.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  if (blobs.size() != ranks) return {};
  return blobs;
}

}  // namespace musubi::bootstrap::local
