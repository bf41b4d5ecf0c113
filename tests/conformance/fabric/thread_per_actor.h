// Runs the actors of a test, each on a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "fabric_suite.h"
#include "thread_executor.h"

namespace musubi::fabric::conformance {

// Result: whether all actors ended within a minute.
inline bool run_by_threads(const std::vector<Actor>& actors, std::uint32_t ranks,
                           const std::function<Fabric&(Rank)>& fabric_of) {
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
      ThreadExecutor executor(fabric_of(actor.rank));
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
  for (std::uint32_t rank = 0; rank < ranks; ++rank) fabric_of(Rank{rank}).wake();
  for (auto& thread : threads) thread.join();
  return all_ended;
}

}  // namespace musubi::fabric::conformance
