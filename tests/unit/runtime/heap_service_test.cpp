#include "runtime/job/job_messages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace musubi::runtime {
namespace {

// The layout of HeapService's messages.
struct Message {
  std::uint64_t kind;  // 0 free, 1 size query, 2 answer
  std::uint64_t value;
  std::uint64_t extra;
};

// Mailboxes of the other ranks are full for `busy` attempts.
class FullFabric final : public fabric::Fabric {
 public:
  int busy = 0;
  int wakes = 0;
  std::vector<Message> sent;

  Rank self() const noexcept override { return Rank{0}; }
  std::uint32_t ranks() const noexcept override { return 2; }
  fabric::Capabilities capabilities(Rank) const noexcept override { return {}; }
  fabric::Outcome post(Rank, std::span<const fabric::Step>, Event&) noexcept override {
    return fabric::Outcome::busy;
  }
  fabric::Outcome send(Rank, fabric::MessageKind, fabric::Urgency,
                       std::span<const std::byte> body) noexcept override {
    if (busy > 0) {
      if (--busy == 0) std::abort();  // the sender retries without end
      return fabric::Outcome::busy;
    }
    Message message;
    std::memcpy(&message, body.data(), sizeof message);
    sent.push_back(message);
    return fabric::Outcome::done;
  }
  void listen(fabric::MessageKind, fabric::Listener*) noexcept override {}
  void offer(fabric::ProcedureId, fabric::Procedure) noexcept override {}
  bool progress() noexcept override { return false; }
  void wait(const std::atomic<bool>&) noexcept override {}
  void wake() noexcept override {}
  void wait_for_service() noexcept override {}
  void wake_service() noexcept override { ++wakes; }
  std::byte* direct(Rank, fabric::RegionId) noexcept override { return nullptr; }
  bool watch(std::atomic_ref<std::uint64_t>, std::uint64_t) noexcept override { return true; }
};

class Notes final : public Messages::HeapListener {
 public:
  std::vector<std::string> notes;

  void on_free(Rank from, std::uintptr_t address, std::size_t bytes) noexcept override {
    notes.push_back(std::to_string(from.value) + " " + std::to_string(address) + " " + std::to_string(bytes));
  }
  std::size_t on_size_query(std::uintptr_t address) noexcept override { return address * 2; }
  bool is_own(std::uintptr_t address, std::size_t) const noexcept override { return address != 0; }
};

struct World {
  FullFabric fabric;
  Notes listener;
  HeapService service{fabric};

  void arrive(const Message& message) { service.on_message(Rank{1}, std::as_bytes(std::span{&message, 1})); }
};

// The polling thread may be inside malloc, in a fault: it must not call the heap.
TEST(HeapService, WhatArrivesIsCarriedOutByTheServiceThreadInOrder) {
  World world;
  world.service.set_listener(&world.listener);
  const int wakes = world.fabric.wakes;
  world.arrive({0, 100, 0});
  world.arrive({0, 200, 4096});
  EXPECT_TRUE(world.listener.notes.empty());
  EXPECT_GT(world.fabric.wakes, wakes);
  EXPECT_TRUE(world.service.serve());
  EXPECT_EQ(world.listener.notes, (std::vector<std::string>{"1 100 0", "1 200 4096"}));
  EXPECT_TRUE(world.service.serve());
  EXPECT_EQ(world.listener.notes.size(), 2u);
}

TEST(HeapService, AnAnswerToAFullMailboxWaitsWithoutHoldingUpTheOthers) {
  World world;
  world.service.set_listener(&world.listener);
  world.fabric.busy = 1000;
  world.arrive({1, 21, 7});
  EXPECT_FALSE(world.service.serve());
  world.arrive({0, 300, 0});
  EXPECT_FALSE(world.service.serve());
  EXPECT_EQ(world.listener.notes.size(), 1u);
  world.fabric.busy = 0;
  EXPECT_TRUE(world.service.serve());
  ASSERT_EQ(world.fabric.sent.size(), 1u);
  EXPECT_EQ(world.fabric.sent[0].kind, 2u);
  EXPECT_EQ(world.fabric.sent[0].value, 42u);
  EXPECT_EQ(world.fabric.sent[0].extra, 7u);
}

TEST(HeapService, WhatComesBeforeTheListenerWaitsForIt) {
  World world;
  world.arrive({0, 100, 0});
  EXPECT_TRUE(world.service.serve());
  world.service.set_listener(&world.listener);
  EXPECT_TRUE(world.service.serve());
  EXPECT_EQ(world.listener.notes.size(), 1u);
}

}  // namespace
}  // namespace musubi::runtime
