// A listener for tests: keeps the messages that arrive and sets an event when there are enough.
#pragma once

#include <cstring>
#include <vector>

#include "base/event.h"
#include "fabric/fabric.h"

namespace musubi::fabric::conformance {

struct Received {
  Rank from;
  std::vector<std::byte> body;

  // The first 8 bytes.
  std::uint64_t number() const {
    std::uint64_t value = 0;
    std::memcpy(&value, body.data(), sizeof value);
    return value;
  }
};

class Inbox final : public Listener {
 public:
  // `enough` is set when `expected` messages have arrived.
  explicit Inbox(std::size_t expected) : expected_(expected) {}

  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override {
    received_.push_back({from, {body.begin(), body.end()}});
    if (received_.size() == expected_) enough.set();
    return nullptr;
  }
  const std::vector<Received>& received() const { return received_; }

  Event enough;

 private:
  std::size_t expected_;
  std::vector<Received> received_;
};

inline std::span<const std::byte> bytes_of(const std::uint64_t& number) {
  return std::as_bytes(std::span<const std::uint64_t, 1>(&number, 1));
}

}  // namespace musubi::fabric::conformance
