// The engine over real sockets: floods by threads that sleep, and peers that disappear.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "base/check.h"
#include "loopback.h"
#include "os/clock.h"

namespace musubi::fabric::conformance {
namespace {

constexpr RegionId region{0};
constexpr std::uint64_t patience_ns = 60'000'000'000u;

// Answers each message, as long as the fabric accepts answers.
class Echo final : public Listener {
 public:
  explicit Echo(Fabric& fabric) : fabric_(fabric) {}
  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override {
    received.fetch_add(1);
    if (!body.empty()) fabric_.send(from, MessageKind::unassigned, Urgency::promptly, body.subspan(1));
    return nullptr;
  }
  std::atomic<std::uint64_t> received{0};

 private:
  Fabric& fabric_;
};

// One rank and its waiting threads: one of them may receive the bytes that other threads sleep for. An
// executor notifies them in the same order.
struct Waiters {
  explicit Waiters(Fabric& rank) : fabric(rank) {}
  bool progress() {
    const bool any = fabric.progress();
    if (any) tell();
    return any;
  }
  void tell() {
    for (auto& flag : ready) flag.store(true);
    fabric.wake();
  }

  Fabric& fabric;
  std::array<std::atomic<bool>, 2> ready{};
};

struct Flood {
  static constexpr std::size_t block_bytes = 200'000, window = 16;
  static constexpr unsigned batches = 400;

  static bool all_set(const std::vector<Event>& completions) {
    return std::all_of(completions.begin(), completions.end(), [](const Event& e) { return e.is_set(); });
  }

  // Posts gets of large blocks and puts together, continuously, and messages.
  void run(Waiters& waiters, std::size_t self, Rank peer, std::uint64_t put_offset) {
    Fabric& fabric = waiters.fabric;
    std::vector<std::vector<std::byte>> blocks(window, std::vector<std::byte>(block_bytes));
    std::vector<std::array<Step, 2>> steps(window);
    std::vector<Event> completions(window);
    std::vector<bool> posted(window);
    std::array<std::byte, 3> body{};
    const std::uint64_t give_up_ns = os::monotonic_ns() + patience_ns;
    while (completed < batches && os::monotonic_ns() < give_up_ns) {
      waiters.ready[self].store(false);
      bool any = waiters.progress();
      for (std::size_t i = 0; i < window; ++i) {
        if (posted[i] && !completions[i].is_set()) continue;
        if (posted[i]) {
          ++completed;
          wrong +=
              std::any_of(blocks[i].begin(), blocks[i].end(), [](std::byte b) { return b != std::byte{7}; });
        }
        completions[i].reset();
        std::fill(blocks[i].begin(), blocks[i].end(), std::byte{0});
        steps[i] = {put(region, put_offset, seven.data(), block_bytes),
                    get(region, put_offset, blocks[i].data(), block_bytes)};
        posted[i] = fabric.post(peer, steps[i], completions[i]) != Outcome::busy;
        any = any || posted[i];
        fabric.send(peer, MessageKind::unassigned, Urgency::promptly, body);
      }
      if (!any) fabric.wait(waiters.ready[self]);
    }
    for (bool any = true; any || !all_set(completions);) {
      if (os::monotonic_ns() > give_up_ns) return;
      waiters.ready[self].store(false);
      any = waiters.progress();
      if (!any && !all_set(completions)) fabric.wait(waiters.ready[self]);
    }
  }

  const std::vector<std::byte> seven = std::vector<std::byte>(block_bytes, std::byte{7});
  unsigned completed = 0, wrong = 0;
};

void flood_once() {
  auto opened = LoopbackJob::open(2, std::size_t{1} << 20, WaitingPolicy{});
  ASSERT_TRUE(opened.ok());
  LoopbackJob& job = *opened.value();
  std::vector<std::unique_ptr<Echo>> echoes;
  std::array<Waiters, 2> waiters{Waiters(job.fabric(Rank{0})), Waiters(job.fabric(Rank{1}))};
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    echoes.push_back(std::make_unique<Echo>(job.fabric(Rank{rank})));
    job.fabric(Rank{rank}).listen(MessageKind::unassigned, echoes.back().get());
  }
  std::vector<std::unique_ptr<Flood>> floods;
  std::vector<std::thread> threads, services;
  std::atomic<bool> stop{false};
  for (std::uint32_t i = 0; i < 4; ++i) floods.push_back(std::make_unique<Flood>());
  for (std::uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back(
        [&, i] { floods[i]->run(waiters[i % 2], i / 2, Rank{1 - i % 2}, i / 2 * Flood::block_bytes + i); });
  }
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    services.emplace_back([&, rank] {
      while (!stop.load()) {
        if (!waiters[rank].progress()) job.fabric(Rank{rank}).wait_for_service();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  stop.store(true);
  for (std::uint32_t rank = 0; rank < 2; ++rank) job.fabric(Rank{rank}).wake_service();
  for (auto& service : services) service.join();
  for (const auto& flood : floods) {
    EXPECT_GE(flood->completed, Flood::batches);
    EXPECT_EQ(flood->wrong, 0u);
  }
  for (const auto& echo : echoes) EXPECT_GT(echo->received.load(), 0u);
}

TEST(LoopbackEngine, RanksThatFloodEachOtherMakeProgress) {
  for (unsigned round = 0; round < 4 && !HasFatalFailure(); ++round) flood_once();
}

class Watcher final : public PeerWatcher {
 public:
  void peer_failed(Rank peer, Loss) noexcept override {
    last = peer;
    ++failures;
  }
  Rank last{};
  unsigned failures = 0;
};

// Ranks whose transports may disappear, as the kernel closes the sockets of a process that dies. Rank 0 is
// told.
class Mortals {
 public:
  explicit Mortals(std::uint32_t ranks) : transports_(loopback_transports(ranks)) {
    MUSUBI_CHECK(transports_.ok(), "%s", transports_.error().message.c_str());
  }
  std::unique_ptr<ActiveMessages> open(std::uint32_t rank) {
    return std::make_unique<ActiveMessages>(*transports_.value()[rank], std::span(&attached_, 1), counters_,
                                            WaitingPolicy{}, rank == 0 ? &watcher : nullptr);
  }
  void close(std::uint32_t rank) { transports_.value()[rank].reset(); }

  Watcher watcher;

 private:
  Result<std::vector<std::unique_ptr<SocketTransport>>> transports_;
  std::vector<std::uint64_t> memory_ = std::vector<std::uint64_t>(512);
  const RegionMemory attached_{region, reinterpret_cast<std::byte*>(memory_.data()), 4096};
  trace::Counters counters_;
};

TEST(LoopbackEngine, ADeathIsNoticedOnceAndTheOthersGoOn) {
  Mortals mortals(3);
  const Watcher& watcher = mortals.watcher;
  std::vector<std::unique_ptr<ActiveMessages>> ranks;
  for (std::uint32_t rank = 0; rank < 3; ++rank) ranks.push_back(mortals.open(rank));
  std::uint64_t results[3]{};
  const Step step = fetch_add(region, 0, &results[0], 1), other = fetch_add(region, 8, &results[1], 1);
  Event before, after, alive;
  ASSERT_EQ(ranks[0]->post(Rank{1}, {&step, 1}, before), Outcome::pending);
  ranks[1].reset();
  mortals.close(1);
  ASSERT_EQ(ranks[0]->post(Rank{2}, {&other, 1}, alive), Outcome::pending);
  const std::uint64_t give_up_ns = os::monotonic_ns() + patience_ns;
  while ((watcher.failures == 0 || !alive.is_set()) && os::monotonic_ns() < give_up_ns) {
    ranks[2]->progress();
    ranks[0]->progress();
  }
  ASSERT_EQ(watcher.failures, 1u);
  EXPECT_EQ(watcher.last, Rank{1});
  EXPECT_TRUE(alive.is_set());
  EXPECT_FALSE(before.is_set());
  EXPECT_EQ(ranks[0]->post(Rank{1}, {&step, 1}, after), Outcome::pending);
  for (unsigned i = 0; i < 100; ++i) {
    EXPECT_EQ(ranks[0]->send(Rank{1}, MessageKind::unassigned, Urgency::promptly, {}), Outcome::done);
    ranks[0]->progress();
  }
  EXPECT_FALSE(after.is_set());
  EXPECT_EQ(watcher.failures, 1u);
}

// A sleeping thread is told.
TEST(LoopbackEngine, ADeathEndsASleep) {
  Mortals mortals(2);
  const std::unique_ptr<ActiveMessages> fabric = mortals.open(0);
  std::thread dying([&] { mortals.close(1); });
  const std::atomic<bool> never{false};
  while (mortals.watcher.failures == 0) fabric->wait(never);
  dying.join();
  EXPECT_EQ(mortals.watcher.last, Rank{1});
}

// A service thread that counts its wake-ups.
class CountedSleeps {
 public:
  explicit CountedSleeps(ActiveMessages& fabric) : fabric_(fabric), thread_([this] { run(); }) {}
  ~CountedSleeps() {
    stop_.store(true);
    fabric_.wake_service();
    thread_.join();
  }
  unsigned ended() const { return ended_.load(); }
  void await(unsigned count) const {
    const std::uint64_t give_up_ns = os::monotonic_ns() + patience_ns;
    while (ended() < count && os::monotonic_ns() < give_up_ns) std::this_thread::yield();
    EXPECT_GE(ended(), count);
  }

 private:
  void run() {
    while (!stop_.load()) {
      fabric_.wait_for_service();
      ended_.fetch_add(1);
    }
  }

  ActiveMessages& fabric_;
  std::atomic<bool> stop_{false};
  std::atomic<unsigned> ended_{0};
  std::thread thread_;
};

TEST(LoopbackEngine, WhatAThreadLooksForWakesNoOther) {
  Mortals mortals(2);
  const std::unique_ptr<ActiveMessages> sender = mortals.open(0), receiver = mortals.open(1);
  std::uint64_t old = 0;
  const Step step = fetch_add(region, 0, &old, 1);
  CountedSleeps service(*receiver);
  const auto ask = [&](Event& completion) {
    ASSERT_EQ(sender->post(Rank{1}, {&step, 1}, completion), Outcome::pending);
  };
  receiver->begin_polling();
  receiver->begin_polling();  // of another thread
  for (unsigned i = 0; i < 100; ++i) {
    Event completion;
    ask(completion);
    if (i == 50) receiver->end_polling();
    while (!completion.is_set()) {
      receiver->progress();
      sender->progress();
    }
  }
  EXPECT_EQ(service.ended(), 0u);
  receiver->wake_service();
  service.await(1);
  EXPECT_EQ(service.ended(), 1u);
  Event left;
  ask(left);
  EXPECT_EQ(service.ended(), 1u);
  receiver->end_polling();  // with a request that no thread has received
  service.await(2);
  receiver->progress();
  while (!left.is_set()) sender->progress();
  Event later;
  ask(later);
  service.await(3);
  receiver->progress();
  while (!later.is_set()) sender->progress();
}

}  // namespace
}  // namespace musubi::fabric::conformance
