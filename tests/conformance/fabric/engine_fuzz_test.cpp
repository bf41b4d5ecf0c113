// The engine refuses, exactly once, frames that no engine would send, and no byte changes outside of the
// memory that they may write. From a seed; build with the address sanitizer to detect reads, too.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "fabric/active_messages/engine.h"
#include "fabric/active_messages/wire.h"
#include "queue_transport.h"

namespace musubi::fabric::conformance {
namespace {

constexpr std::size_t region_words = 512, guard_words = 64;
constexpr std::size_t region_bytes = region_words * 8;
constexpr std::uint64_t guard = 0x5a5a'a5a5'5a5a'a5a5;
constexpr std::size_t ample = std::size_t{1} << 24;
constexpr ProcedureId storing{0};
constexpr std::uint64_t frames_wanted = 100'000;

// Words with guards around them.
class GuardedWords {
 public:
  explicit GuardedWords(std::size_t words) : words_(words + 2 * guard_words, guard) {
    std::fill_n(words_.begin() + guard_words, words, 0);
  }
  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data() + guard_words); }
  bool intact() const {
    const auto is_guard = [](std::uint64_t word) { return word == guard; };
    return std::all_of(words_.begin(), words_.begin() + guard_words, is_guard) &&
           std::all_of(words_.end() - guard_words, words_.end(), is_guard);
  }

 private:
  std::vector<std::uint64_t> words_;
};

class Watcher final : public PeerWatcher {
 public:
  void peer_failed(Rank, Loss loss) noexcept override {
    ++failures;
    last = loss.reason;
  }
  unsigned failures = 0;
  std::string last;
};

class BoundedListener final : public Listener {
 public:
  const char* on_message(Rank, std::span<const std::byte> body) noexcept override {
    ++messages;
    if (body.size() > driver_message_bytes_max) ++too_long;
    return nullptr;
  }
  unsigned messages = 0, too_long = 0;
};

// A procedure like those of the job: it asks for all memory that it touches. Stores the bytes after its first
// argument at this offset; result: the old bytes.
Verdict store_bytes(Call& call, const void*) noexcept {
  std::uint64_t offset = 0;
  if (!call.read(offset)) return malformed;
  const auto bytes = call.arguments().subspan(sizeof offset);
  std::byte* const place = call.at(RegionId{0}, offset, bytes.size());
  if (place == nullptr) return malformed;
  const Verdict verdict = call.add(place, bytes.size()) ? 1 : 2;
  std::copy(bytes.begin(), bytes.end(), place);
  return verdict;
}

// Rank 1 with its engine; the test writes the frames of rank 0.
struct Attacked {
  explicit Attacked(std::uint64_t seed) : network(2, ample, 700, seed), memory(region_words) {
    const RegionMemory region{RegionId{0}, memory.data(), region_bytes};
    engine.emplace(network.transport(Rank{1}), std::span(&region, 1), counters, WaitingPolicy{}, &watcher);
    engine->listen(MessageKind::unassigned, &listener);
    engine->offer(storing, {&store_bytes, nullptr});
  }
  void feed(Lane lane, const std::vector<std::byte>& bytes) {
    auto& queue = network.lane(Rank{0}, Rank{1}, lane).bytes;
    queue.insert(queue.end(), bytes.begin(), bytes.end());
  }
  void settle() {
    while (engine->progress()) {
    }
  }
  std::uint64_t reply_bytes() { return network.lane(Rank{1}, Rank{0}, Lane::replies).all_bytes; }

  QueueNetwork network;
  GuardedWords memory;
  trace::Counters counters;
  Watcher watcher;
  BoundedListener listener;
  std::optional<ActiveMessages> engine;
};

void append(std::vector<std::byte>& to, const void* from, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(from);
  to.insert(to.end(), begin, begin + bytes);
}

Step random_step(Random& random) {
  Step step{};
  step.verb = static_cast<Verb>(random.below(6));
  step.region = RegionId{0};
  if (random.below(4) == 0) step.after = static_cast<Verdict>(1 + random.below(2));
  if (step.verb == Verb::call) {
    step.region = RegionId{};
    step.operand = 8 + random.below(1 + random.below(1200));
    step.bytes = random.below(1500);
    return step;
  }
  if (wire::is_atomic(step.verb)) {
    step.bytes = 8;
    step.offset = 8 * random.below(region_words);
  } else {
    step.bytes = random.below(1 + random.below(1200));
    step.offset = random.below(region_bytes - step.bytes + 1);
  }
  step.operand = random.next();
  step.compare = random.below(2);
  return step;
}

// A frame as an engine would send it.
std::vector<std::byte> good_request(Random& random, std::uint64_t sequence) {
  std::vector<std::byte> frame;
  std::vector<std::byte> body(2000, std::byte{7});
  wire::FrameHeader header{.kind = wire::FrameKind::message, .message = {}, .count = 0, .sequence = sequence};
  if (random.below(4) == 0) {
    header.message = MessageKind::unassigned;
    header.count = static_cast<std::uint32_t>(random.below(driver_message_bytes_max + 1));
    append(frame, &header, sizeof header);
    append(frame, body.data(), header.count);
    return frame;
  }
  header.kind = wire::FrameKind::batch;
  header.count = static_cast<std::uint32_t>(1 + random.below(6));
  append(frame, &header, sizeof header);
  for (std::uint32_t i = 0; i < header.count; ++i) {
    const Step step = random_step(random);
    std::byte description[wire::step_bytes_max];
    append(frame, description, wire::encode(step, description));
    if (step.verb == Verb::put) append(frame, body.data(), step.bytes);
    if (step.verb != Verb::call) continue;
    const std::uint64_t offset = random.below(region_bytes - step.operand + 8 + 1);
    append(frame, &offset, sizeof offset);
    append(frame, body.data(), step.operand - sizeof offset);
  }
  return frame;
}

// Changes a frame on its way.
enum class Harm : unsigned {
  none,
  flipped,
  truncated,
  foreign,
  header_numbers,
  step_numbers,
  repeated,
  count
};

std::vector<std::byte> harm(Random& random, Harm kind, std::vector<std::byte> frame) {
  const auto overwrite = [&](std::size_t at, std::size_t bytes) {
    for (std::size_t i = at; i < std::min(at + bytes, frame.size()); ++i) {
      frame[i] = static_cast<std::byte>(random.next());
    }
  };
  switch (kind) {
    case Harm::flipped:
      for (std::uint64_t i = 1 + random.below(4); i != 0; --i) {
        frame[random.below(frame.size())] ^= static_cast<std::byte>(1u << random.below(8));
      }
      break;
    case Harm::truncated:
      frame.resize(random.below(frame.size()));
      break;
    case Harm::foreign:
      frame.resize(sizeof(wire::FrameHeader) + random.below(300));
      overwrite(0, frame.size());
      break;
    case Harm::header_numbers:
      overwrite(2 + random.below(6), 1 + random.below(4));
      break;
    case Harm::step_numbers:
      overwrite(sizeof(wire::FrameHeader) + random.below(16), 1 + random.below(8));
      break;
    case Harm::repeated:
      frame.insert(frame.end(), frame.begin(), frame.end());
      break;
    default:
      break;
  }
  return frame;
}

TEST(EngineFuzz, DamagedRequestsAreRefusedAndHarmNothing) {
  Random random(11);
  std::uint64_t frames = 0, refused = 0, foreign = 0;
  std::set<std::string> reasons;
  for (std::uint64_t stream = 0; frames < frames_wanted; ++stream) {
    Attacked attacked(stream);
    std::uint64_t sequence = 0;
    const std::uint64_t good = random.below(4);
    for (; sequence < good; ++frames) attacked.feed(Lane::requests, good_request(random, ++sequence));
    attacked.settle();
    ASSERT_EQ(attacked.watcher.failures, 0u) << "stream " << stream << ": " << attacked.watcher.last;
    ASSERT_EQ(attacked.listener.messages == 0 && attacked.reply_bytes() == 0, good == 0) << stream;

    const auto kind = static_cast<Harm>(1 + random.below(static_cast<unsigned>(Harm::count) - 1));
    attacked.feed(Lane::requests, harm(random, kind, good_request(random, ++sequence)));
    for (unsigned i = 0; i < 12; ++i) attacked.feed(Lane::requests, good_request(random, ++sequence));
    frames += 13;
    attacked.settle();
    ASSERT_TRUE(attacked.memory.intact()) << "stream " << stream;
    ASSERT_EQ(attacked.listener.too_long, 0u);
    ASSERT_LE(attacked.watcher.failures, 1u) << "told once";
    if (kind == Harm::foreign || kind == Harm::repeated) {
      ++foreign;
      ASSERT_EQ(attacked.watcher.failures, 1u) << "stream " << stream;
    }
    refused += attacked.watcher.failures;
    reasons.insert(attacked.watcher.last);
  }
  EXPECT_GT(foreign, frames / 60);
  EXPECT_GT(refused, frames / 40) << "most damage is seen";
  EXPECT_GE(reasons.size(), 9u) << "each check has refused something";
}

// The bytes that a step adds to a reply, after a call that ended with `verdict`.
void add_result(Random& random, const Step& step, Verdict& verdict, std::vector<std::byte>& reply) {
  if (step.after != no_verdict && step.after != verdict) return;
  std::size_t bytes = wire::result_bytes(step);
  if (step.verb == Verb::call) {
    const CallEnd end{static_cast<std::uint32_t>(random.below(step.bytes + 1)),
                      verdict = static_cast<Verdict>(1 + random.below(2)),
                      {}};
    append(reply, &end, sizeof end);
    bytes = end.bytes;
  }
  reply.resize(reply.size() + bytes, std::byte{3});
}

TEST(EngineFuzz, CallEndsThatPromiseTooMuchAreRefused) {
  for (const CallEnd end : {CallEnd{9, 1, {}}, CallEnd{8, no_verdict, {}}, CallEnd{8, malformed, {}}}) {
    Attacked attacked(1);
    Answer<std::uint64_t> answer{};
    Event completion;
    const Step step = call(storing, {}, answer.end, sizeof answer.result);
    ASSERT_EQ(attacked.engine->post(Rank{0}, std::span(&step, 1), completion), Outcome::pending);
    attacked.settle();
    std::vector<std::byte> reply;
    append(reply, &end, sizeof end);
    attacked.feed(Lane::replies, reply);
    attacked.settle();
    EXPECT_EQ(attacked.watcher.last, "its reply has a damaged result");
    EXPECT_FALSE(completion.is_set());
  }
}

// Two ranks alternate: rank 1 asks rank 0, whose replies the test makes.
TEST(EngineFuzz, DamagedRepliesAreRefusedAndHarmNothing) {
  Random random(12);
  std::uint64_t frames = 0, refused = 0;
  constexpr std::size_t batches = 4;
  for (std::uint64_t stream = 0; frames < frames_wanted; ++stream) {
    Attacked attacked(stream);
    std::vector<GuardedWords> results(batches, GuardedWords(region_words));
    std::vector<std::vector<Step>> steps(batches);
    std::vector<Event> completions(batches);
    std::vector<std::byte> replies;
    const std::size_t damaged = random.below(batches);
    for (std::size_t i = 0; i < batches; ++i, ++frames) {
      std::vector<std::byte> reply;
      Verdict verdict = no_verdict;
      for (std::uint64_t left = 1 + random.below(4); left != 0; --left) {
        Step step = random_step(random);
        if (random.below(3) == 0) step = get(RegionId{0}, 0, nullptr, 1024 + random.below(3072));
        step.local = results[i].data();
        if (step.verb == Verb::put) step.local = attacked.memory.data();
        if (step.verb == Verb::call) step.arguments = attacked.memory.data();
        steps[i].push_back(step);
        add_result(random, step, verdict, reply);
      }
      const wire::FrameHeader header{.kind = wire::FrameKind::reply,
                                     .message = {},
                                     .count = static_cast<std::uint32_t>(steps[i].size()),
                                     .sequence = i + 1};
      append(reply, &header, sizeof header);
      if (i == damaged) {
        // Results may be anything; only its length and its header make a reply valid.
        const auto kind = random.below(2) == 0 ? Harm::truncated : Harm::foreign;
        const std::size_t whole = reply.size();
        reply = harm(random, kind, reply);
        // The last byte of a header is zero, and so may be the next one.
        if (kind == Harm::truncated) reply.resize(std::min(reply.size(), whole - 8));
      }
      append(replies, reply.data(), reply.size());
      ASSERT_EQ(attacked.engine->post(Rank{0}, steps[i], completions[i]), Outcome::pending);
    }
    attacked.settle();
    replies.resize(replies.size() + 40'000, std::byte{9});  // enough to replace the bytes cut off
    attacked.feed(Lane::replies, replies);
    attacked.settle();
    ASSERT_EQ(attacked.watcher.failures, 1u) << "stream " << stream;
    ASSERT_TRUE(attacked.memory.intact());
    for (std::size_t i = 0; i < batches; ++i) {
      ASSERT_TRUE(results[i].intact()) << "stream " << stream << " batch " << i;
      ASSERT_EQ(completions[i].is_set(), i < damaged) << "stream " << stream << " batch " << i;
    }
    refused += attacked.watcher.failures;
  }
  EXPECT_EQ(refused, frames / batches);
}

TEST(EngineFuzz, RepliesThatNobodyAskedForAreRefused) {
  Attacked attacked(1);
  attacked.feed(Lane::replies, std::vector<std::byte>(16));
  attacked.settle();
  EXPECT_EQ(attacked.watcher.failures, 1u);
}

}  // namespace
}  // namespace musubi::fabric::conformance
