// Remote calls among three ranks of one process: each has a service thread, as in a job.
#include "runtime/job/remote_call_service.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "shm_ranks.h"

namespace musubi::runtime {
namespace {

constexpr std::uint32_t ranks = 3;
constexpr ProcedureId echo_id{1}, blocking_id{2}, relay_id{3};

class Member {
 public:
  Member(Rank self, fabric::Exchange exchange) : self_(self) {
    fabric::WaitingPolicy policy;
    auto opened = rank_.open(self, ranks, 4096, exchange, policy);
    MUSUBI_CHECK(static_cast<bool>(opened));
    calls_ = std::make_unique<RemoteCallService>(*rank_.fabric, rank_.counters, [] {});
  }
  void start() {
    service_ = std::thread([this] {
      while (!stopping_.load()) {
        const bool idle = !rank_.fabric->progress();
        calls_->keep_up();
        if (idle) rank_.fabric->wait_for_service();
      }
    });
  }
  void stop() {
    stopping_.store(true);
    rank_.fabric->wake_service();
    service_.join();
    calls_.reset();
  }
  RemoteCallService& calls() { return *calls_; }
  Answer call(Rank callee, ProcedureId id, std::span<const std::byte> request, std::span<std::byte> reply) {
    ThreadExecutor executor(*rank_.fabric, rank_.counters);
    RemoteCallService::Question question(reply);
    executor.run(calls_->ask(callee, id, request, question));
    return question.answer;
  }

 private:
  const Rank self_;
  fabric::conformance::ShmRank rank_;
  std::unique_ptr<RemoteCallService> calls_;
  std::atomic<bool> stopping_{false};
  std::thread service_;
};

// Echoes the received bytes, and names the caller.
struct Echo final : Procedure {
  Answer run(Rank caller, std::span<const std::byte> request, std::span<std::byte> reply) noexcept override {
    std::memcpy(reply.data(), request.data(), request.size());
    return {caller.value, request.size()};
  }
};

// Answers after enough calls have arrived: each call needs a thread of its own.
struct Meeting final : Procedure {
  explicit Meeting(std::uint32_t needed) : needed_(needed) {}
  Answer run(Rank, std::span<const std::byte>, std::span<std::byte>) noexcept override {
    arrived_.fetch_add(1);
    while (arrived_.load() < needed_) std::this_thread::yield();
    return {needed_, 0};
  }
  const std::uint32_t needed_;
  std::atomic<std::uint32_t> arrived_{0};
};

// Calls the next rank before it answers.
struct Relay final : Procedure {
  Relay(Member& member, Rank next) : member_(member), next_(next) {}
  Answer run(Rank, std::span<const std::byte> request, std::span<std::byte> reply) noexcept override {
    return member_.call(next_, echo_id, request, reply);
  }
  Member& member_;
  const Rank next_;
};

class RemoteCallsTest : public ::testing::Test {
 protected:
  RemoteCallsTest() : board_(ranks) {
    std::vector<std::thread> openers;
    members_.resize(ranks);
    for (std::uint32_t i = 0; i < ranks; ++i) {
      openers.emplace_back(
          [this, i] { members_[i] = std::make_unique<Member>(Rank{i}, board_.of(Rank{i})); });
    }
    for (std::thread& opener : openers) opener.join();
    for (auto& member : members_) member->start();
  }
  ~RemoteCallsTest() override {
    for (auto& member : members_) member->stop();
  }
  static std::vector<std::byte> bytes(std::size_t count) {
    std::vector<std::byte> result(count);
    for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<std::byte>(i * 7 + 3);
    return result;
  }
  Member& member(std::uint32_t rank) { return *members_[rank]; }

  fabric::conformance::ExchangeBoard board_;
  std::vector<std::unique_ptr<Member>> members_;
};

TEST_F(RemoteCallsTest, BytesTravelBothWays) {
  Echo echo;
  member(2).calls().serve(echo_id, echo);
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, call_bytes_max}) {
    const auto request = bytes(count);
    std::vector<std::byte> reply(count);
    const Answer answer = member(0).call(Rank{2}, echo_id, request, reply);
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.bytes, count);
    EXPECT_EQ(reply, request);
  }
  EXPECT_EQ(member(1).call(Rank{2}, echo_id, {}, {}).status, 1);
}

TEST_F(RemoteCallsTest, AShortBufferTakesTheBeginning) {
  Echo echo;
  member(1).calls().serve(echo_id, echo);
  const auto request = bytes(100);
  std::vector<std::byte> reply(10);
  EXPECT_EQ(member(0).call(Rank{1}, echo_id, request, reply).bytes, 100u);
  EXPECT_TRUE(std::equal(reply.begin(), reply.end(), request.begin()));
}

TEST_F(RemoteCallsTest, CallsThatBlockDoNotHoldUpOthers) {
  constexpr std::uint32_t callers = 6;
  Meeting meeting(callers);
  member(1).calls().serve(blocking_id, meeting);
  std::vector<std::thread> threads;
  std::atomic<std::uint32_t> answered{0};
  for (std::uint32_t i = 0; i < callers; ++i) {
    threads.emplace_back([&, i] {
      if (member(i % 2 * 2).call(Rank{1}, blocking_id, {}, {}).status == callers) answered.fetch_add(1);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(answered.load(), callers);
}

TEST_F(RemoteCallsTest, AProcedureMayCallAnotherRank) {
  Echo echo;
  Relay relay(member(1), Rank{2});
  member(1).calls().serve(relay_id, relay);
  member(2).calls().serve(echo_id, echo);
  const auto request = bytes(33);
  std::vector<std::byte> reply(33);
  EXPECT_EQ(member(0).call(Rank{1}, relay_id, request, reply).status, 1);
  EXPECT_EQ(reply, request);
}

}  // namespace
}  // namespace musubi::runtime
