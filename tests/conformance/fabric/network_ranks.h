// What tests of drivers for networks have in common: the secret, what the driver said, opening together.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/result.h"
#include "fabric/handshake/complaints.h"

namespace musubi::fabric::conformance {

inline constexpr std::array<std::byte, 32> secret_of_tests{std::byte{1}, std::byte{2}, std::byte{3}};

// What the driver said.
class Lines final : public handshake::Log {
 public:
  void say(std::string_view line) noexcept override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  }
  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// Calls open(rank) for all ranks at once: opening is collective.
template <typename Open>
void open_all(std::uint32_t ranks, Open open) {
  std::vector<std::thread> openers;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    openers.emplace_back([&open, rank] {
      Result<void> opened = open(Rank{rank});
      MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
    });
  }
  for (auto& opener : openers) opener.join();
}

}  // namespace musubi::fabric::conformance
