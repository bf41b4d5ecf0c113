// A runtime of one process for tests: it takes notes of what the heap asks for.
#pragma once

#include <string>
#include <vector>

#include "runtime/runtime.h"

namespace musubi::image {

class StandInRuntime : public runtime::Runtime {
 public:
  std::size_t size = 48;           // of every allocation of other ranks
  std::vector<std::string> notes;  // "release", "acquire", "free 2 1000"

  Rank self() const noexcept override { return Rank{0}; }
  std::uint32_t ranks() const noexcept override { return 3; }
  const config::Settings& settings() const noexcept override { return settings_; }
  const runtime::Layout& layout() const noexcept override { return layout_; }
  trace::Counters& counters() noexcept override { return counters_; }
  void share_globals() override {}
  void share_library(std::span<const runtime::SharedRange>, std::span<const runtime::PrivateBytes>,
                     bool) override {}
  bool attach_thread() override { return true; }
  void detach_thread() override {}
  void add_stranger() noexcept override {}
  void remove_stranger() noexcept override {}
  runtime::ThreadStack take_stack() override { return {}; }
  void give_back_stack(const runtime::ThreadStack&) override {}
  void note_stack(std::size_t, const void*, const void*) noexcept override {}
  void barrier(runtime::BarrierPayload&) override {}
  void set_release_listener(ReleaseListener*) override {}
  void lock(LockId) override {}
  bool try_lock(LockId) override { return true; }
  void unlock(LockId) override {}
  void flush() override { notes.push_back("flush"); }
  void release() override { notes.push_back("release"); }
  void acquire() override { notes.push_back("acquire"); }
  AtomicValue atomic(std::uintptr_t, const AtomicOperation&) override { return 0; }
  bool is_shared(std::uintptr_t) const noexcept override { return false; }
  std::uint64_t word_load(Rank, std::size_t) override { return 0; }
  void word_store(Rank, std::size_t, std::uint64_t) override {}
  std::uint64_t word_fetch_add(Rank, std::size_t, std::uint64_t) override { return 0; }
  std::uint64_t word_compare_swap(Rank, std::size_t, std::uint64_t, std::uint64_t) override { return 0; }
  void touch(const void*, std::size_t, bool) override {}
  Result<void> become_copy(CopySource&) override { return {}; }
  void set_heap_listener(HeapListener*) override {}
  void allow_code(std::uintptr_t) override {}
  void store_zeros(void*, std::size_t) override {}
  void send_free(Rank owner, std::uintptr_t address, std::size_t bytes) override {
    notes.push_back("free " + std::to_string(owner.value) + " " + std::to_string(address) +
                    (bytes == 0 ? "" : " " + std::to_string(bytes)));
  }
  std::size_t query_size(Rank, std::uintptr_t) override { return size; }
  runtime::RemoteCalls& remote_calls() noexcept override { std::abort(); }
  void set_thread_count(std::uint32_t) noexcept override {}
  void wait_local(const std::atomic<std::uint32_t>*, std::uint32_t) override {}
  void wake_local(const std::atomic<std::uint32_t>*) override {}
  void finish(int) override {}
  void leave(int) noexcept override {}
  [[noreturn]] void abort(int, std::string_view) override { std::abort(); }

 private:
  config::Settings settings_;
  runtime::Layout layout_{};
  trace::Counters counters_;
};

}  // namespace musubi::image
