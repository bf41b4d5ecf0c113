// A runtime of one process for tests: it records the calls of the heap.
#pragma once

#include <string>
#include <vector>

#include "runtime/api/runtime.h"

namespace musubi::heap {

class StandInRuntime final : public runtime::Runtime,
                             private runtime::Memory,
                             private runtime::Messages,
                             private runtime::Synchronization {
 public:
  std::size_t size = 48;           // size of every allocation of other ranks
  bool all_is_one = false;         // memory of all ranks
  std::vector<std::string> notes;  // "release", "acquire", "free 2 1000"

  StandInRuntime() : Runtime(Rank{0}, bootstrap::Hosts::one(3), settings_, counters_) {
    Interfaces interfaces;
    interfaces.memory = this;
    interfaces.messages = this;
    interfaces.synchronization = this;
    give(interfaces);
  }

 private:
  const runtime::Layout& layout() const noexcept override { return layout_; }
  bool is_shared(std::uintptr_t) const noexcept override { return true; }
  bool is_one() const noexcept override { return all_is_one; }
  void share_globals() override {}
  void share_library(std::span<const runtime::SharedRange>, std::span<const runtime::PrivateBytes>,
                     bool) override {}
  void allow_code(std::uintptr_t) override {}
  void store_zeros(void*, std::size_t) override {}
  bool give_back(std::uintptr_t, std::size_t) noexcept override { return false; }
  void touch(const void*, std::size_t, bool) override {}
  Result<void> become_copy(CopySource&) override { return {}; }

  void set_heap_listener(HeapListener*) override {}
  void send_free(Rank owner, std::uintptr_t address, std::size_t bytes) override {
    notes.push_back("free " + std::to_string(owner.value) + " " + std::to_string(address) +
                    (bytes == 0 ? "" : " " + std::to_string(bytes)));
  }
  std::size_t query_size(Rank, std::uintptr_t) override { return size; }

  void barrier(runtime::BarrierPayload&) override {}
  void last_barrier() override {}
  void set_release_listener(ReleaseListener*) override {}
  StoreBound stores_of(const runtime::RegionCode&, const void*) override { return {}; }
  void set_allocations(const Allocations*) override {}
  void run_between_regions() override {}
  void run_beside_barriers() override {}
  bool is_between_regions() const noexcept override { return false; }
  void begin_region(const StoreBound&) override {}
  void end_region() override {}
  void lock(LockId) override {}
  bool try_lock(LockId) override { return true; }
  void unlock(LockId) override {}
  void flush() override { notes.push_back("flush"); }
  void release_range(const void*, std::size_t) override {}
  void release(std::uint64_t) override { notes.push_back("release"); }
  void acquire(std::uint64_t) override { notes.push_back("acquire"); }
  void expect_flags() override {}
  void suspect_flags() override {}
  AtomicValue atomic(std::uintptr_t, const AtomicOperation&) override { return 0; }

  runtime::Layout layout_{};
  config::Settings settings_;
  trace::Counters counters_;
};

}  // namespace musubi::heap
