// The port's suite on the driver shm: several ranks in one process, each actor on its own thread, once with
// threads that spin first and once with threads that sleep at once.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "fabric_suite.h"
#include "os/cpu.h"
#include "shm_ranks.h"
#include "thread_executor.h"

namespace musubi::fabric::conformance {
namespace {

class ShmWorld final : public FabricWorld {
 public:
  ShmWorld(std::uint32_t ranks, std::size_t region_bytes, WaitingPolicy policy)
      : board_(ranks), ranks_(ranks) {
    std::vector<std::thread> openers;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      openers.emplace_back([this, rank, region_bytes, policy] {
        const auto count = static_cast<std::uint32_t>(ranks_.size());
        auto opened = ranks_[rank].open(Rank{rank}, count, region_bytes, board_.of(Rank{rank}), policy);
        MUSUBI_CHECK(opened.ok(), "%s", opened.error().message.c_str());
      });
    }
    for (auto& opener : openers) opener.join();
  }

  Fabric& fabric(Rank rank) override { return *ranks_[rank.value].fabric; }
  std::byte* memory(Rank rank) override { return ranks_[rank.value].memory.data(); }

  bool run(std::vector<Actor> actors) override {
    std::mutex mutex;
    std::condition_variable one_ended;
    std::size_t ended = 0;
    std::atomic<bool> give_up{false};
    std::atomic<std::size_t> started{0};
    std::vector<std::thread> threads;
    for (const Actor& actor : actors) {
      threads.emplace_back([&, actor] {
        ++started;
        while (started < actors.size()) ::sched_yield();  // so that they meet
        ThreadExecutor executor(fabric(actor.rank));
        Task<> task = actor.start();
        executor.drive(task, give_up);
        const std::lock_guard lock(mutex);
        ++ended;
        one_ended.notify_one();
      });
    }
    bool all_ended = false;
    {
      std::unique_lock lock(mutex);
      all_ended = one_ended.wait_for(lock, std::chrono::seconds(60), [&] { return ended == actors.size(); });
    }
    give_up.store(true);
    for (ShmRank& rank : ranks_) rank.fabric->wake();
    for (auto& thread : threads) thread.join();
    return all_ended;
  }

 private:
  ExchangeBoard board_;
  std::vector<ShmRank> ranks_;
};

std::unique_ptr<FabricWorld> make_by_cores(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<ShmWorld>(ranks, region_bytes, waiting_policy(ranks, os::allowed_cores()));
}

std::unique_ptr<FabricWorld> make_sleepy(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<ShmWorld>(ranks, region_bytes, WaitingPolicy{});
}

INSTANTIATE_TEST_SUITE_P(Shm, FabricSuite,
                         ::testing::Values(Driver{"by_cores", &make_by_cores, 200},
                                           Driver{"sleepy", &make_sleepy, 200}),
                         driver_name);

}  // namespace
}  // namespace musubi::fabric::conformance
