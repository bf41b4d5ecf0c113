// Messages that no rank would send, to a rank's listeners: each is accepted, or its sender is shut out. None
// ends this rank, and none writes outside of its place. From a seed; build with the address sanitizer to
// detect such writes.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "fabric/active_messages/engine.h"
#include "fabric/active_messages/wire.h"
#include "queue_transport.h"
#include "real_listeners.h"
#include "sync/barrier_parts.h"

namespace musubi::fabric::conformance {
namespace {

constexpr std::uint32_t ranks = 4;
constexpr Rank attacked_rank{1}, sender{0};  // the peer that this rank expects first in each exchange
constexpr std::uint64_t messages_wanted = 60'000;

using Body = std::vector<std::byte>;

template <class... Parts>
Body body_of(const Parts&... parts) {
  Body body;
  const auto add = [&](const void* from, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(from);
    body.insert(body.end(), begin, begin + bytes);
  };
  (add(&parts, sizeof parts), ...);
  return body;
}

// As the services lay them out.
struct CollectiveHead {
  std::uint64_t position = 1;
  std::uint32_t round = 0, offset = 0, bytes = 0, unused = 0;
  sync::CollectiveTerms terms;
};
struct CallHead {
  std::uint64_t ticket = 7;
  std::int64_t status = 0;
  std::uint32_t bytes = 0;
  runtime::ProcedureId id = RealListeners::served;
  std::uint8_t kind = 0;
  std::uint16_t unused = 0;
};
struct HeapBody {
  std::uint64_t kind, value, extra;
};

class Watcher final : public PeerWatcher {
 public:
  void peer_failed(Rank peer, Loss loss) noexcept override {
    ++failures;
    right = peer == sender && loss.kind == Loss::Kind::refused;
    reason = loss.reason;
  }
  unsigned failures = 0;
  bool right = true;
  std::string reason;
};

// A rank with all its listeners; the test writes the messages of another rank.
struct Attacked {
  explicit Attacked(std::uint64_t seed) : network(ranks, std::size_t{1} << 24, 700, seed) {
    engine.emplace(network.transport(attacked_rank), std::span<const RegionMemory>{}, counters,
                   WaitingPolicy{}, &watcher);
    listeners.emplace(*engine);
  }
  void feed(MessageKind kind, const Body& body) {
    const wire::FrameHeader header{.kind = wire::FrameKind::message,
                                   .message = kind,
                                   .count = static_cast<std::uint32_t>(body.size()),
                                   .sequence = ++sequence};
    auto& queue = network.lane(sender, attacked_rank, Lane::requests).bytes;
    const Body head = body_of(header);
    queue.insert(queue.end(), head.begin(), head.end());
    queue.insert(queue.end(), body.begin(), body.end());
    while (engine->progress()) {
    }
    listeners->carry_out();
  }

  QueueNetwork network;
  trace::Counters counters;
  Watcher watcher;
  std::uint64_t sequence = 0;
  std::optional<ActiveMessages> engine;
  std::optional<RealListeners> listeners;
};

Body good_barrier(Random& random) {
  sync::BarrierHeader header{};
  header.epoch = 1;
  header.notice_count = random.below(8);
  Body body = body_of(header);
  for (std::uint64_t i = 0; i < header.notice_count; ++i) {
    const coherence::Notice notice{BlockId{random.below(RealListeners::blocks_max)}, LogicalTime{5},
                                   LogicalTime{9}, Rank{static_cast<std::uint32_t>(random.below(ranks))},
                                   false};
    coherence::PackedNotice packed[1];
    MUSUBI_CHECK(coherence::pack({&notice, 1}, LogicalTime{}, packed));
    const Body bytes = body_of(packed);
    body.insert(body.end(), bytes.begin(), bytes.end());
  }
  return body;
}

Body good_collective(Random& random) {
  CollectiveHead head;
  head.terms.bytes = 8 * random.below(9);
  head.bytes = static_cast<std::uint32_t>(head.terms.bytes);
  Body body = body_of(head);
  body.resize(body.size() + head.bytes);
  return body;
}

Body good_call(Random& random) {
  CallHead head;
  head.bytes = static_cast<std::uint32_t>(random.below(runtime::call_bytes_max + 1));
  Body body = body_of(head);
  body.resize(body.size() + head.bytes);
  return body;
}

Body good_body(Random& random, MessageKind kind) {
  switch (kind) {
    case MessageKind::barrier:
      return good_barrier(random);
    case MessageKind::collective:
      return good_collective(random);
    case MessageKind::call:
      return good_call(random);
    case MessageKind::heap:
      return body_of(HeapBody{random.below(2), random.below(1000), 0});
    case MessageKind::lock_granted: {
      Body body = body_of(RealListeners::awaited_lock);
      body.resize(body.size() + 9 + random.below(RealListeners::gift_bytes_max - 9));
      return body;
    }
    default:
      return {};
  }
}

constexpr MessageKind kinds[] = {MessageKind::lock_granted, MessageKind::barrier, MessageKind::control,
                                 MessageKind::heap,         MessageKind::call,    MessageKind::request,
                                 MessageKind::collective};

Body damaged(Random& random, Body body) {
  if (body.empty() || random.below(3) == 0) {
    body.resize(random.below(random.below(4) == 0 ? driver_message_bytes_max + 1 : body.size() + 40),
                static_cast<std::byte>(random.next()));
  }
  for (std::uint64_t i = random.below(4); i != 0 && !body.empty(); --i) {
    const std::uint64_t at =
        random.below(std::min<std::size_t>(body.size(), random.below(2) == 0 ? 64 : 2000));
    body[at] = static_cast<std::byte>(random.below(3) == 0 ? 0xff : random.next());
  }
  return body;
}

TEST(ListenersFuzz, WhatRanksSendIsTaken) {
  Random random(1);
  for (unsigned i = 0; i < 300; ++i) {
    for (const MessageKind kind : kinds) {
      Attacked attacked(i);
      attacked.feed(kind, good_body(random, kind));
      ASSERT_EQ(attacked.watcher.failures, 0u)
          << static_cast<unsigned>(kind) << ": " << attacked.watcher.reason;
      ASSERT_EQ(attacked.listeners->has_lock(), kind == MessageKind::lock_granted);
    }
  }
}

TEST(ListenersFuzz, DamagedMessagesAreRefusedWithTheirSenderAndHarmNothing) {
  Random random(2);
  std::set<std::string> reasons;
  std::uint64_t refused = 0;
  for (std::uint64_t sent = 0; sent < messages_wanted;) {
    Attacked attacked(sent);
    for (unsigned i = 0; i < 20 && attacked.watcher.failures == 0; ++i, ++sent) {
      const MessageKind kind = kinds[random.below(std::size(kinds))];
      attacked.feed(kind, damaged(random, good_body(random, kind)));
    }
    ASSERT_TRUE(attacked.watcher.right);
    ASSERT_LE(attacked.watcher.failures, 1u);
    refused += attacked.watcher.failures;
    reasons.insert(attacked.watcher.reason);
  }
  EXPECT_GT(refused, messages_wanted / 20);
  EXPECT_GE(reasons.size(), 14u) << "each check has refused something";
}

// No answer leads to memory that no request has named.
TEST(ListenersFuzz, AnswersThatNobodyAskedForAreRefused) {
  int somewhere = 0;
  const auto address = reinterpret_cast<std::uint64_t>(&somewhere);
  for (const std::uint64_t ticket : {std::uint64_t{0}, std::uint64_t{1}, address}) {
    Attacked heap(1);
    heap.feed(MessageKind::heap, body_of(HeapBody{2, 12, ticket}));
    EXPECT_EQ(heap.watcher.reason, "it answers a question of the heap that it was not asked");
    Attacked call(1);
    CallHead head;
    head.kind = 1;
    head.ticket = ticket;
    call.feed(MessageKind::call, body_of(head));
    EXPECT_EQ(call.watcher.reason, "it answers a call that it was not asked");
  }
}

// A message of the right form that arrives twice, or two barriers early.
TEST(ListenersFuzz, MessagesOfOtherBarriersAreRefused) {
  for (const std::uint64_t epoch : {0u, 1u, 3u, 4u}) {
    Attacked attacked(1);
    sync::BarrierHeader header{};
    header.epoch = 1;
    attacked.feed(MessageKind::barrier, body_of(header));
    EXPECT_EQ(attacked.watcher.failures, 0u);
    header.epoch = epoch;
    attacked.feed(MessageKind::barrier, body_of(header));
    EXPECT_EQ(attacked.watcher.reason, "its message is of another barrier") << epoch;
  }
}

}  // namespace
}  // namespace musubi::fabric::conformance
