// Service threads for fabrics on the active-message engine: without one, requests are not carried out while a
// rank's own threads do something else. They run only while actors do: a death test forks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "fabric/fabric.h"
#include "fabric_suite.h"
#include "thread_per_actor.h"

namespace musubi::fabric::conformance {

// The thread of one rank, for the lifetime of this object.
class ServiceOfRank {
 public:
  explicit ServiceOfRank(Fabric& fabric)
      : fabric_(fabric), thread_([this] {
          while (!stop_.load()) {
            if (!fabric_.progress()) fabric_.wait_for_service();
          }
        }) {}
  ~ServiceOfRank() {
    stop_.store(true);
    fabric_.wake_service();
    thread_.join();
  }
  ServiceOfRank(const ServiceOfRank&) = delete;

 private:
  Fabric& fabric_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// One for each rank, for the lifetime of this object.
class ServiceThreads {
 public:
  ServiceThreads(std::uint32_t ranks, const std::function<Fabric&(Rank)>& fabric_of) {
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      services_.push_back(std::make_unique<ServiceOfRank>(fabric_of(Rank{rank})));
  }
  // Ends the thread of one rank, as if the rank were gone.
  void end(Rank rank) { services_[rank.value].reset(); }

 private:
  std::vector<std::unique_ptr<ServiceOfRank>> services_;
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
