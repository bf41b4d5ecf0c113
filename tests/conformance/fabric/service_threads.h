// Service threads for fabrics on the engine of active messages: without one nothing carries requests out
// while a rank's own threads do something else. They run only while actors do: a death test forks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "fabric/fabric.h"
#include "fabric_suite.h"
#include "thread_per_actor.h"

namespace musubi::fabric::conformance {

// One for each rank, for as long as this lives.
class ServiceThreads {
 public:
  ServiceThreads(std::uint32_t ranks, std::function<Fabric&(Rank)> fabric_of)
      : ranks_(ranks), fabric_of_(std::move(fabric_of)) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      threads_.emplace_back([this, rank] {
        Fabric& fabric = fabric_of_(Rank{rank});
        while (!stop_.load()) {
          if (!fabric.progress()) fabric.wait_for_service();
        }
      });
    }
  }
  ~ServiceThreads() {
    stop_.store(true);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) fabric_of_(Rank{rank}).wake_service();
    for (auto& thread : threads_) thread.join();
  }
  ServiceThreads(const ServiceThreads&) = delete;

 private:
  const std::uint32_t ranks_;
  const std::function<Fabric&(Rank)> fabric_of_;
  std::atomic<bool> stop_{false};
  std::vector<std::thread> threads_;
};

// A world whose ranks have service threads while actors run, a thread each.
class ServedWorld : public FabricWorld {
 public:
  bool run(std::vector<Actor> actors) final {
    const auto fabric_of = [this](Rank rank) -> Fabric& { return fabric(rank); };
    const ServiceThreads services(ranks_, fabric_of);
    return run_by_threads(actors, ranks_, fabric_of);
  }

 protected:
  explicit ServedWorld(std::uint32_t ranks) : ranks_(ranks) {}

 private:
  const std::uint32_t ranks_;
};

}  // namespace musubi::fabric::conformance
