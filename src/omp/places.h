// The places of the job, numbered rank by rank, and the binding of threads to them. Each rank knows its own
// places, and publishes them in words, where other ranks look them up.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "omp/icv.h"
#include "omp/place_list.h"
#include "omp/place_partition.h"
#include "omp/thread.h"
#include "runtime/api/runtime.h"

namespace musubi::omp {

class Places {
 public:
  explicit Places(runtime::Runtime& runtime) : runtime_(runtime) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // At the start, on every rank: finds and publishes this rank's places, if the environment asks for places
  // or for binding.
  void find(const Environment& environment);
  bool exist() const noexcept { return !here_.empty(); }

  // Of all ranks. Waits until all ranks have started. REQUIRES: exist().
  std::uint32_t count() { return first_of(runtime_.ranks()); }
  // The processors of a place of any rank, ascending; empty: there is no such place. May wait for an answer
  // of another rank.
  os::Processors processors_of(std::uint32_t place);
  // place-partition-var of the task.
  PlacePartition partition_of(const ImplicitTask& task) {
    return task.partition.count != 0 ? task.partition : PlacePartition{0, count()};
  }

  // The calling thread represents its rank: it gets the rank's first place if threads are bound.
  void bind_first_thread();
  // The calling thread becomes member `index` of the rank's `members`; binds it by the policy. `task`: with
  // its ancestor and its team.
  void bind_member(ImplicitTask& task, ProcBind bind, std::uint32_t index, std::uint32_t members);

 private:
  // The number of the first place on the rank; for the number of ranks: of all places.
  std::uint32_t first_of(std::uint32_t rank);
  PlacePartition all_here() {
    return {first_of(runtime_.self().value), static_cast<std::uint32_t>(here_.size())};
  }
  void bind_thread(std::uint32_t place);

  runtime::Runtime& runtime_;
  std::vector<os::Processors> here_;
  bool binds_ = false;
  std::atomic<const std::uint32_t*> first_{nullptr};  // by rank, then the total
};

}  // namespace musubi::omp
