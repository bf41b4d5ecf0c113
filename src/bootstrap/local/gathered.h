// The result of an all-gather, as one text: for each rank the length of its blob, then the blob.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace musubi::bootstrap::local {

inline void append_gathered(std::string& text, std::string_view blob) {
  const std::uint64_t bytes = blob.size();
  text.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  text.append(blob);
}

// Empty if malformed.
std::vector<std::string> split_gathered(std::string_view text, std::uint32_t ranks);

}  // namespace musubi::bootstrap::local
