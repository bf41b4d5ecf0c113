// The driver shm between processes that were really forked.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <set>

#include "base/random.h"
#include "inbox.h"
#include "os/cpu.h"
#include "shm_ranks.h"

namespace musubi::fabric::conformance {
namespace {

constexpr RegionId region{0};
constexpr std::size_t region_bytes = 1 << 16;

// A process per rank; each opens its fabric and runs the body. `alarm` bounds its lifetime.
class ForkedRanks {
 public:
  using Body = std::function<bool(ShmRank& rank)>;

  ForkedRanks(std::uint32_t ranks, WaitingPolicy policy, const Body& body, std::size_t bytes = region_bytes)
      : board_(ranks) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const pid_t child = ::fork();
      MUSUBI_CHECK(child >= 0);
      if (child == 0) {
        ::alarm(60);
        ShmRank self;
        auto opened = self.open(Rank{rank}, ranks, bytes, board_.of(Rank{rank}), policy);
        if (!opened.ok()) ::_exit(3);
        ::_exit(body(self) ? 0 : 1);
      }
      children_.push_back(child);
    }
  }

  void kill(std::uint32_t rank) { ::kill(children_[rank], SIGKILL); }
  // Result: the number of ranks that ended well.
  unsigned join() {
    unsigned good = 0;
    for (const pid_t child : children_) {
      int status = 0;
      ::waitpid(child, &status, 0);
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) ++good;
    }
    return good;
  }

 private:
  ExchangeBoard board_;
  std::vector<pid_t> children_;
};

std::uint64_t fetch_add_now(Fabric& fabric, Rank peer, std::uint64_t offset, std::uint64_t amount) {
  std::uint64_t old = 0;
  const Step step = fetch_add(region, offset, &old, amount);
  Event completion;
  fabric.post(peer, std::span(&step, 1), completion);
  return old;
}

void yield_until(const std::function<bool()>& condition) {
  while (!condition()) ::sched_yield();
}

bool add_many(ShmRank& rank) {
  constexpr std::uint64_t rounds = 200'000;
  Fabric& fabric = *rank.fabric;
  for (std::uint64_t i = 0; i < rounds; ++i) fetch_add_now(fabric, Rank{0}, 0, 1 + i % 3);
  fetch_add_now(fabric, Rank{0}, 8, 1);
  yield_until([&] { return fetch_add_now(fabric, Rank{0}, 8, 0) == fabric.ranks(); });
  std::uint64_t expected = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) expected += 1 + i % 3;
  const bool exact = fetch_add_now(fabric, Rank{0}, 0, 0) == expected * fabric.ranks();
  fetch_add_now(fabric, Rank{0}, 16, 1);
  // Rank 0 stays until all ranks have looked. The memory lives as long as a process maps it, so this is only
  // a precaution.
  yield_until([&] { return fetch_add_now(fabric, Rank{0}, 16, 0) == fabric.ranks(); });
  return exact;
}

TEST(ShmProcesses, AtomicsAreExactBetweenTwo) {
  EXPECT_EQ(ForkedRanks(2, {}, &add_many).join(), 2u);
}
TEST(ShmProcesses, AtomicsAreExactBetweenFour) {
  EXPECT_EQ(ForkedRanks(4, {}, &add_many).join(), 4u);
}

// Sends a message and waits for one, repeatedly; ranks in pairs.
class PingPong final : public Listener {
 public:
  PingPong(ShmRank& rank, std::uint64_t rounds, Urgency urgency)
      : fabric_(*rank.fabric), partner_(Rank{fabric_.self().value ^ 1u}), rounds_(rounds), urgency_(urgency) {
    fabric_.listen(MessageKind::unassigned, this);
  }
  bool play() {
    for (std::uint64_t round = 1; round <= rounds_; ++round) {
      if (fabric_.self() < partner_) send(round);
      while (last_ < round) {
        if (!fabric_.progress()) fabric_.wait(never_ready_);
      }
      if (last_ != round) return false;
      if (partner_ < fabric_.self()) send(round);
    }
    return true;
  }
  const char* on_message(Rank, std::span<const std::byte> body) noexcept override {
    std::memcpy(&last_, body.data(), 8);
    return nullptr;
  }

 private:
  void send(std::uint64_t round) {
    while (fabric_.send(partner_, MessageKind::unassigned, urgency_, bytes_of(round)) == Outcome::busy)
      ::sched_yield();
  }

  Fabric& fabric_;
  const Rank partner_;
  const std::uint64_t rounds_;
  const Urgency urgency_;
  const std::atomic<bool> never_ready_{false};
  std::uint64_t last_ = 0;
};

bool ping_pong_100000(ShmRank& rank) {
  return PingPong(rank, 100'000, Urgency::when_polled).play();
}
bool ping_pong_promptly(ShmRank& rank) {
  return PingPong(rank, 100'000, Urgency::promptly).play();
}
bool ping_pong_20000(ShmRank& rank) {
  return PingPong(rank, 20'000, Urgency::when_polled).play();
}

// A lost wake-up would leave a pair asleep until the alarm.
TEST(ShmProcesses, NoWakeUpIsLostWhenOversubscribed) {
  EXPECT_EQ(ForkedRanks(4, waiting_policy(4, 2), &ping_pong_100000).join(), 4u);
  EXPECT_EQ(ForkedRanks(4, waiting_policy(4, 2), &ping_pong_promptly).join(), 4u);
}
TEST(ShmProcesses, NoWakeUpIsLostWhenAlwaysAsleep) {
  EXPECT_EQ(ForkedRanks(2, WaitingPolicy{}, &ping_pong_20000).join(), 2u);
  EXPECT_EQ(ForkedRanks(4, WaitingPolicy{}, &ping_pong_20000).join(), 4u);
}
// Each rank on a core of its own, if there are enough cores: only then do ringing and falling asleep happen
// at once.
void pin(std::uint32_t rank) {
  cpu_set_t allowed, one;
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  std::uint32_t index = rank % static_cast<std::uint32_t>(CPU_COUNT(&allowed));
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || index-- != 0) continue;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

struct LastNumber final : Listener {
  const char* on_message(Rank, std::span<const std::byte> body) noexcept override {
    std::memcpy(&value, body.data(), 8);
    return nullptr;
  }
  std::uint64_t value = 0;
};

// Rank 1 answers and falls asleep. Rank 0 stays awake and sends at a random moment around that, for at most
// two seconds (on a loaded machine the rounds are slow).
bool meet_at_the_edge(ShmRank& rank) {
  constexpr std::uint64_t rounds = 100'000, stop = ~std::uint64_t{0};
  Fabric& fabric = *rank.fabric;
  LastNumber last;
  const std::atomic<bool> never_ready{false};
  fabric.listen(MessageKind::unassigned, &last);
  pin(fabric.self().value);
  const auto send = [&](std::uint64_t number) {
    return fabric.send(Rank{fabric.self().value ^ 1u}, MessageKind::unassigned, Urgency::when_polled,
                       bytes_of(number)) == Outcome::done;
  };
  if (fabric.self() == Rank{1}) {
    for (std::uint64_t round = 1; last.value != stop; ++round) {
      while (last.value < round) {
        if (!fabric.progress()) fabric.wait(never_ready);
      }
      if (!send(round)) return false;
    }
    return true;
  }
  Random random(5);
  const std::uint64_t end_ns = os::monotonic_ns() + 2'000'000'000u;
  for (std::uint64_t round = 1; round <= rounds && os::monotonic_ns() < end_ns; ++round) {
    if (!send(round)) return false;
    for (unsigned looks = 1; last.value < round; ++looks) {
      if (!fabric.progress() && looks % 256 == 0) ::sched_yield();
    }
    const std::uint64_t until_ns = os::monotonic_ns() + random.below(700);
    while (os::monotonic_ns() < until_ns) os::pause_instruction();
  }
  return send(stop);
}

TEST(ShmProcesses, NoWakeUpIsLostAtTheEdgeOfSleep) {
  EXPECT_EQ(ForkedRanks(2, WaitingPolicy{}, &meet_at_the_edge).join(), 2u);
  EXPECT_EQ(ForkedRanks(2, WaitingPolicy{.spin_checks = 8, .yields = 0}, &meet_at_the_edge).join(), 2u);
}

std::set<std::string> names_in(const char* folder) {
  std::set<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (name.find("musubi") != std::string::npos) names.insert(name);
  }
  return names;
}

TEST(ShmProcesses, AKilledRankLeavesNoFileAndPeersStillReachItsMemory) {
  const auto before_shm = names_in("/dev/shm");
  ForkedRanks ranks(2, WaitingPolicy{}, [](ShmRank& rank) {
    Fabric& fabric = *rank.fabric;
    if (fabric.self() == Rank{1}) {
      fetch_add_now(fabric, Rank{1}, 0, 7);
      ::kill(::getpid(), SIGKILL);
    }
    yield_until([&] { return fetch_add_now(fabric, Rank{1}, 0, 0) == 7; });
    // Dead ranks do not empty their mailboxes: "busy" in the end, never a hang, never a fault.
    unsigned sent = 0;
    while (fabric.send(Rank{1}, MessageKind::unassigned, Urgency::promptly, {}) == Outcome::done) ++sent;
    return sent == mailbox_slots;
  });
  EXPECT_EQ(ranks.join(), 1u);
  EXPECT_EQ(names_in("/dev/shm"), before_shm);
}

TEST(ShmProcesses, HugeSparseRegionsTakeNoMemory) {
  constexpr std::size_t bytes = std::size_t{256} << 30;
  ForkedRanks ranks(
      4, WaitingPolicy{},
      [](ShmRank& rank) {
        Fabric& fabric = *rank.fabric;
        // One word near the end of every rank's region.
        for (std::uint32_t peer = 0; peer < 4; ++peer) fetch_add_now(fabric, Rank{peer}, bytes - 8, 1);
        yield_until([&] { return fetch_add_now(fabric, fabric.self(), bytes - 8, 0) == 4; });
        struct stat file {};
        ::fstat(rank.memory.file.number(), &file);
        rusage usage{};
        ::getrusage(RUSAGE_SELF, &usage);
        return file.st_blocks * 512 <= 1 << 20 && usage.ru_maxrss < 64 * 1024;
      },
      bytes);
  EXPECT_EQ(ranks.join(), 4u);
}

TEST(ShmProcesses, DifferentRegionsAreRefusedByAllRanks) {
  ExchangeBoard board(2);
  std::vector<pid_t> children;
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    ::alarm(60);
    ShmRank self;
    auto opened = self.open(Rank{rank}, 2, (rank + 1) * region_bytes, board.of(Rank{rank}), {});
    const bool clear = !opened.ok() && opened.error().message.find("same settings") != std::string::npos;
    ::_exit(clear ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

TEST(ShmProcesses, CountsWhatGoesToOthers) {
  ForkedRanks ranks(2, WaitingPolicy{}, [](ShmRank& rank) {
    Fabric& fabric = *rank.fabric;
    std::array<std::byte, 100> buffer{};
    const std::array<Step, 2> steps{put(region, 256, buffer.data(), 100),
                                    get(region, 256, buffer.data(), 50)};
    Event completion;
    const auto peer = Rank{fabric.self().value ^ 1u};
    bool done = fabric.post(peer, steps, completion) == Outcome::done;
    done = done && fabric.post(fabric.self(), steps, completion) == Outcome::done;
    fabric.send(peer, MessageKind::unassigned, Urgency::when_polled, {});
    fabric.send(fabric.self(), MessageKind::unassigned, Urgency::when_polled, {});
    return done && rank.counters.get(trace::Counter::remote_operations) == 1 &&
           rank.counters.get(trace::Counter::remote_bytes) == 150 &&
           rank.counters.get(trace::Counter::messages) == 1;
  });
  EXPECT_EQ(ranks.join(), 2u);
}

}  // namespace
}  // namespace musubi::fabric::conformance
