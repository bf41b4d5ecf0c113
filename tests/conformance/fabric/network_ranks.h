// Shared by tests of drivers for networks: ranks of one process that open together, the secret, the driver's
// messages, and waits for expected events.
#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/event.h"
#include "base/ids.h"
#include "base/result.h"
#include "fabric/active_messages/engine.h"
#include "fabric/handshake/complaints.h"
#include "fabric/transfer.h"
#include "os/clock.h"
#include "os/memory.h"

namespace musubi::fabric::conformance {

inline constexpr std::array<std::byte, 32> secret_of_tests{std::byte{1}, std::byte{2}, std::byte{3}};

// The lines that the driver printed.
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

// Counts the peers that the driver gave up.
class LossCounter final : public PeerWatcher {
 public:
  void peer_failed(Rank, Loss loss) noexcept override {
    reason.store(loss.reason);
    kind.store(loss.kind);
    reasons.say(loss.reason);
    failed.fetch_add(1);
  }
  std::atomic<unsigned> failed{0};
  std::atomic<const char*> reason{""};  // the most recent
  Lines reasons;
  std::atomic<Loss::Kind> kind{};
};

// The one region of a rank in these tests.
inline constexpr RegionId region_of_tests{0};

// A rank: some memory as its one region, the transport, and the fabric over it.
template <typename Transport>
struct NetworkRank {
  os::Mapping memory;
  trace::Counters counters;
  std::unique_ptr<Transport> transport;
  std::unique_ptr<ActiveMessages> fabric;

  // `open_transport`: returns a Result with the transport.
  template <typename OpenTransport>
  Result<void> open_by(OpenTransport open_transport, std::size_t region_bytes, WaitingPolicy policy,
                       PeerWatcher* watcher) {
    auto mapped = os::Mapping::anywhere(region_bytes, os::Protection::read_write);
    if (!mapped) return mapped.error();
    memory = std::move(mapped).value();
    auto opened = open_transport();
    if (!opened) return opened.error();
    transport = std::move(opened).value();
    const RegionMemory memory_of_region{region_of_tests, memory.data(), region_bytes};
    fabric = std::make_unique<ActiveMessages>(*transport, std::span(&memory_of_region, 1), counters, policy,
                                              watcher);
    return {};
  }
};

inline constexpr std::uint64_t patience_ns = 30'000'000'000u;

// The longest wait.
template <typename Condition>
bool comes_true(Condition condition) {
  const std::uint64_t end = os::monotonic_ns() + patience_ns;
  while (!condition()) {
    if (os::monotonic_ns() > end) return false;
    ::usleep(1000);
  }
  return true;
}

// Whether `asking` gets a word of the memory of `peer`, whose service thread runs. `progresses`: the calling
// thread polls for the answer itself.
inline bool gets_word(Fabric& asking, Rank peer, std::byte* memory_of_peer, bool progresses = false) {
  std::uint64_t word = 0;
  *reinterpret_cast<std::uint64_t*>(memory_of_peer) = 4711;
  const Step step = get(region_of_tests, 0, &word, sizeof word);
  Event completion;
  if (asking.post(peer, {&step, 1}, completion) != Outcome::pending) return false;
  const auto is_there = [&] {
    if (progresses) asking.progress();
    return completion.is_set();
  };
  return comes_true(is_there) && word == 4711;
}

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
