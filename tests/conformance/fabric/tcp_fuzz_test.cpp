// Bytes that strangers and damaged peers may send to a listening rank, from a seed: none does harm, and a
// well-behaved peer gets in all the same. Build with sanitizers to detect more. MUSUBI_FUZZ_FRAMES: the
// number of frames, by default few.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "base/random.h"
#include "fabric/active_messages/wire.h"
#include "fabric/handshake/handshake.h"
#include "os/clock.h"
#include "real_listeners.h"
#include "tcp_ranks.h"

namespace musubi::fabric::conformance {
namespace {

using handshake::Side;

constexpr std::uint32_t ranks = 64;
constexpr std::size_t region_bytes = 4096;

std::uint64_t frames_wanted() {
  const char* const given = std::getenv("MUSUBI_FUZZ_FRAMES");
  return given == nullptr ? 5000 : std::strtoull(given, nullptr, 10);
}

class Watcher final : public PeerWatcher {
 public:
  void peer_failed(Rank, Loss) noexcept override { ++failures; }
  unsigned failures = 0;
};

// Rank 0; the test plays its peers. One thread does all.
class Attacked {
 public:
  Attacked() {
    const Exchange alone = [this](std::string_view blob) -> Result<std::vector<std::string>> {
      if (blob.size() > handshake::build_bytes) {
        std::memcpy(static_cast<void*>(&door_), blob.data() + handshake::build_bytes, sizeof door_);
      }
      return std::vector<std::string>(ranks, std::string(blob));
    };
    TcpOptions options = tcp_options_of_tests();
    options.reach_max = std::chrono::milliseconds(500);  // also for a peer that has sent nothing
    const auto opened = rank_.open(Rank{0}, ranks, region_bytes, options, alone, WaitingPolicy{}, &watcher);
    MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
    listeners_.emplace(*rank_.fabric);
  }

  os::FileDescriptor knock() const {
    os::FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const linger at_once{1, 0};  // leaves no port
    ::setsockopt(socket.number(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    MUSUBI_CHECK(::connect(socket.number(), &door_.any, door_.bytes()) == 0);
    return socket;
  }
  static void say(const os::FileDescriptor& socket, const void* bytes, std::size_t count) {
    (void)!::send(socket.number(), bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  // Until rank 0 has answered. Result: whether it did.
  bool hear(const os::FileDescriptor& socket, void* bytes, std::size_t count) {
    const std::uint64_t end = os::monotonic_ns() + 20'000'000'000u;
    std::size_t held = 0;
    while (held < count && os::monotonic_ns() < end) {
      progress();
      const ssize_t got =
          ::recv(socket.number(), static_cast<char*>(bytes) + held, count - held, MSG_DONTWAIT);
      if (got == 0 || (got < 0 && errno != EAGAIN)) return false;
      if (got > 0) held += static_cast<std::size_t>(got);
    }
    return held == count;
  }
  void progress() { rank_.fabric->progress(); }
  // A well-behaved peer, until it is in.
  os::FileDescriptor enter(Rank peer) {
    os::FileDescriptor socket = knock();
    const handshake::Handshake handshake(peer, ranks, "test", secret_of_tests);
    const handshake::Hello hello = handshake.hello_to(Rank{0}, {});
    handshake::Answer answer;
    say(socket, &hello, sizeof hello);
    MUSUBI_CHECK(hear(socket, &answer, sizeof answer), "rank %u is not let in", peer.value);
    const handshake::Proof proof = handshake.prove(Side::asks, hello, answer.nonce);
    say(socket, &proof, sizeof proof);
    handshake::Welcome welcome;
    MUSUBI_CHECK(hear(socket, &welcome, sizeof welcome), "rank %u is not welcome", peer.value);
    return socket;
  }

  Watcher watcher;

 private:
  TcpRank rank_;
  os::SocketAddress door_;
  std::optional<RealListeners> listeners_;
};

std::string noise(Random& random, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.below(256));
  return text;
}

// A frame that is nearly right: whole, with some bytes changed, or cut off.
std::string damaged(Random& random, std::string frame) {
  for (std::uint64_t changes = random.below(4); changes != 0; --changes) {
    frame[random.below(frame.size())] = static_cast<char>(random.below(256));
  }
  if (random.below(3) == 0) frame.resize(random.below(frame.size() + 1));
  if (random.below(3) == 0) frame += noise(random, random.below(300));
  return frame;
}

std::string plausible_request(Random& random) {
  const bool is_batch = random.below(2) == 0;
  const wire::FrameHeader header{.kind = is_batch ? wire::FrameKind::batch : wire::FrameKind::message,
                                 .message = static_cast<MessageKind>(random.below(9)),
                                 .count = static_cast<std::uint32_t>(1 + random.below(is_batch ? 4 : 2100)),
                                 .sequence = 1};
  std::string frame(reinterpret_cast<const char*>(&header), sizeof header);
  if (!is_batch) return frame + noise(random, header.count);
  for (std::uint32_t i = 0; i < header.count; ++i) {
    Step step{};
    step.verb = static_cast<Verb>(random.below(5));
    step.region = RegionId{static_cast<std::uint8_t>(random.below(2))};
    step.offset = random.below(2 * region_bytes);
    step.bytes = wire::is_atomic(step.verb) ? 8 : random.below(region_bytes);
    std::byte description[wire::step_bytes_max];
    const std::size_t bytes = wire::encode(step, description);
    frame.append(reinterpret_cast<const char*>(description), bytes);
    if (step.verb == Verb::put) frame += noise(random, step.bytes);
  }
  return frame;
}

}  // namespace

TEST(TcpFuzz, HandshakesThatAreDamagedLetNobodyIn) {
  Random random(31);
  Attacked attacked;
  const std::uint64_t wanted = frames_wanted();
  std::vector<os::FileDescriptor> lingering(16);
  for (std::uint64_t i = 0; i < wanted; ++i) {
    os::FileDescriptor socket = attacked.knock();
    const Rank peer{static_cast<std::uint32_t>(1 + random.below(ranks - 1))};
    const handshake::Handshake handshake(peer, ranks, "test", secret_of_tests);
    const handshake::Hello hello = handshake.hello_to(Rank{0}, {});
    std::string text(reinterpret_cast<const char*>(&hello), sizeof hello);
    if (random.below(3) != 0) text = damaged(random, text);
    if (random.below(2) == 0) text += noise(random, sizeof(handshake::Proof));
    Attacked::say(socket, text.data(), text.size());
    if (random.below(4) != 0) attacked.progress();
    lingering[random.below(lingering.size())] = std::move(socket);
  }
  EXPECT_EQ(attacked.watcher.failures, 0u) << "no peer was let in, so none is lost";
  for (std::uint32_t rank = 1; rank < ranks; ++rank) {
    lingering.push_back(attacked.enter(Rank{rank}));
  }
}

TEST(TcpFuzz, FramesThatAreDamagedCostTheirConnectionAndNoOther) {
  Random random(32);
  const std::uint64_t wanted = frames_wanted();
  std::uint64_t refused = 0;
  for (std::uint64_t sent = 0; sent < wanted;) {
    Attacked attacked;
    std::vector<os::FileDescriptor> peers;
    for (std::uint32_t rank = 1; rank < ranks; ++rank, ++sent) {
      peers.push_back(attacked.enter(Rank{rank}));
      const std::string frame = damaged(random, plausible_request(random));
      Attacked::say(peers.back(), frame.data(), frame.size());
      attacked.progress();
    }
    peers.clear();
    const std::uint64_t end = os::monotonic_ns() + 20'000'000'000u;
    while (attacked.watcher.failures < ranks - 1 && os::monotonic_ns() < end) attacked.progress();
    ASSERT_EQ(attacked.watcher.failures, ranks - 1) << "each peer is reported once";
    refused += attacked.watcher.failures;
  }
  EXPECT_GE(refused, wanted);
}

}  // namespace musubi::fabric::conformance
