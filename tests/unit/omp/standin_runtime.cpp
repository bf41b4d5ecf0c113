#include "standin_runtime.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "omp/process.h"
#include "omp/shared_memory.h"
#include "os/futex.h"

namespace musubi::testing {
namespace {

SharedWorld* world = nullptr;  // world of the job that this process belongs to

// The shared memory of the stand-in is all that its tests share: it need not be laid out, copied or opened.
class StandInMemory final : public runtime::Memory {
 public:
  const runtime::Layout& layout() const noexcept override { return layout_; }
  bool is_shared(std::uintptr_t address) const noexcept override {
    const auto base = reinterpret_cast<std::uintptr_t>(world);
    return address >= base && address < base + sizeof(SharedWorld);
  }
  void share_globals() override {}
  void share_library(std::span<const runtime::SharedRange>, std::span<const runtime::PrivateBytes>,
                     bool) override {}
  void allow_code(std::uintptr_t) override {}
  void store_zeros(void*, std::size_t) override {}
  bool give_back(std::uintptr_t, std::size_t) noexcept override { return false; }
  void touch(const void*, std::size_t, bool) override {}
  Result<void> become_copy(CopySource&) override { return {}; }

 private:
  runtime::Layout layout_{};
};

class StandinRuntime final : public runtime::Runtime,
                             private runtime::Synchronization,
                             private runtime::Words,
                             private runtime::Threads,
                             private runtime::RemoteCalls,
                             private runtime::Ending {
 public:
  StandinRuntime(Rank self, const JobDescription& description)
      : Runtime(self, bootstrap::Hosts::one(description.ranks), settings_, counters_),
        self_(self),
        ranks_(description.ranks),
        far_(description.far) {
    settings_.threads_per_rank = description.threads_per_rank;
    settings_.stack_bytes = stack_bytes;
    Interfaces interfaces;
    interfaces.memory = &memory_;
    interfaces.synchronization = this;
    interfaces.words = this;
    interfaces.threads = this;
    interfaces.remote_calls = this;
    interfaces.ending = this;
    give(interfaces);
  }

 private:
  bool attach() override { return true; }
  void detach() override {}
  void add_outsider() noexcept override {}
  void remove_outsider() noexcept override {}
  void expect_outsiders() noexcept override {}
  runtime::ThreadStack take_stack() override {
    if (next_slot_ == slots_per_rank) abort(1, "no stack left");
    std::byte* low = world->stacks[self_.value][next_slot_];
    return {low, low + stack_bytes, next_slot_++};
  }
  std::optional<runtime::ThreadStack> take_spare_stack() override { return {}; }
  void give_back_stack(const runtime::ThreadStack&) override {}
  void note_stack(std::size_t, const void*, const void*) noexcept override {}

  void set_release_listener(ReleaseListener* listener) override { release_listener_ = listener; }
  void last_barrier() override {}
  void barrier(runtime::BarrierPayload& payload) override {
    if (release_listener_ != nullptr) release_listener_->on_released();
    const std::uint32_t generation = world->generation.load();
    if (self_.value == 0) world->payload = payload;
    if (world->arrived.fetch_add(1) + 1 == ranks_) {
      world->arrived.store(0);
      world->barriers.fetch_add(1);
      world->generation.store(generation + 1);
      os::futex_wake(world->generation);
    }
    while (world->generation.load() == generation) os::futex_wait(world->generation, generation);
    payload = world->payload;
    // No rank may overwrite the payload before every rank has read it: meet once more.
    const std::uint32_t second = generation + 1;
    if (world->arrived.fetch_add(1) + 1 == ranks_) {
      world->arrived.store(0);
      world->generation.store(second + 1);
      os::futex_wake(world->generation);
    }
    while (world->generation.load() == second) os::futex_wait(world->generation, second);
  }

  void lock(LockId lock) override {
    while (!try_lock(lock)) sched_yield();
  }
  bool try_lock(LockId lock) override {
    std::uint32_t free = 0;
    return world->locks[lock.value].compare_exchange_strong(free, 1);
  }
  void unlock(LockId lock) override { world->locks[lock.value].store(0); }
  void flush() override {}
  void release_range(const void*, std::size_t) override {}
  void release(std::uint64_t) override {}
  void acquire(std::uint64_t) override {}
  StoreBound stores_of(const runtime::RegionCode&, const void*) override { return {}; }
  void set_allocations(const Allocations*) override {}
  void run_between_regions() override {}
  void run_beside_barriers() override {}
  bool is_between_regions() const noexcept override { return false; }
  void begin_region(const StoreBound&) override {}
  void end_region() override {}
  void expect_flags() override {}
  void suspect_flags() override {}

  AtomicValue atomic(std::uintptr_t address, const AtomicOperation& operation) override {
    return operation.bytes == 4 ? apply_to(reinterpret_cast<std::uint32_t*>(address), operation)
                                : apply_to(reinterpret_cast<std::uint64_t*>(address), operation);
  }
  bool all_within_reach() const noexcept override { return !far_; }
  std::uint64_t load(Rank owner, std::size_t index) override { return word(owner, index).load(); }
  void store(Rank owner, std::size_t index, std::uint64_t value) override { word(owner, index).store(value); }
  std::uint64_t fetch_add(Rank owner, std::size_t index, std::uint64_t amount) override {
    return word(owner, index).fetch_add(amount);
  }
  std::uint64_t compare_swap(Rank owner, std::size_t index, std::uint64_t expected,
                             std::uint64_t desired) override {
    word(owner, index).compare_exchange_strong(expected, desired);
    return expected;
  }

  void set_count(std::uint32_t) noexcept override {}

  void serve(runtime::ProcedureId, runtime::Procedure&) noexcept override {}
  runtime::Answer call(Rank, runtime::ProcedureId, std::span<const std::byte>,
                       std::span<std::byte>) override {
    abort(1, "no calls between ranks");
  }
  Task<runtime::Answer> ask(Rank, runtime::ProcedureId, std::span<const std::byte>,
                            std::span<std::byte>) override {
    abort(1, "no calls between ranks");
  }
  std::int64_t call_others(runtime::ProcedureId, std::span<const std::byte>) override {
    abort(1, "no calls between ranks");
  }

  void wait_local(const std::atomic<std::uint32_t>* word, std::uint32_t value) override {
    for (int i = 0; i < 50; ++i) {
      if (word->load(std::memory_order_acquire) != value) return;
      sched_yield();
    }
    while (word->load(std::memory_order_acquire) == value) os::futex_wait(*word, value);
  }
  void wake_local(const std::atomic<std::uint32_t>* word) override { os::futex_wake(*word); }

  bool finishes_together() const noexcept override { return false; }
  void finish(int) override {}
  void leave(int) noexcept override {}
  [[noreturn]] void abort(int status, std::string_view reason) override {
    std::fprintf(stderr, "job aborted: %.*s\n", static_cast<int>(reason.size()), reason.data());
    _exit(status == 0 ? 1 : status);
  }

  template <class Word>
  static AtomicValue apply_to(Word* address, const AtomicOperation& operation) {
    Word old = __atomic_load_n(address, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(address, &old, static_cast<Word>(apply(operation, old)), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return old;
  }
  std::atomic<std::uint64_t>& word(Rank owner, std::size_t index) const {
    if (far_ && owner != self_) {
      world->trips.fetch_add(1);
      usleep(10);
    }
    return world->words[owner.value][index];
  }

  Rank self_;
  std::uint32_t ranks_;
  bool far_;
  ReleaseListener* release_listener_ = nullptr;
  std::size_t next_slot_ = 0;
  config::Settings settings_;
  trace::Counters counters_;
  StandInMemory memory_;
};

struct MainArguments {
  StandinRuntime* runtime;
  runtime::ThreadStack stack;
  const std::function<void()>* body;
  int status;
};

// The main thread of a rank, on a stack that all ranks see.
void* main_of_rank(void* argument) {
  auto& arguments = *static_cast<MainArguments*>(argument);
  omp::start(*arguments.runtime, {});
  omp::set_shared_allocator({&shared_allocate, [](void*) {}});
  omp::adopt_main_thread(arguments.stack, __builtin_frame_address(0));
  if (arguments.runtime->self().value != 0) {
    std::optional<omp::ExitDecision> decision;
    while (!(decision = omp::worker_main()))
      omp::succeed_main_thread(arguments.stack, __builtin_frame_address(0));
    arguments.status = decision->status;
    return nullptr;
  }
  (*arguments.body)();
  arguments.status = ::testing::Test::HasFailure() ? 1 : 0;
  if (!omp::shut_down(0)) arguments.status = 2;
  return nullptr;
}

[[noreturn]] void run_rank(Rank self, const JobDescription& description, const std::function<void()>& body) {
  alarm(60);
  for (const auto& [name, value] : description.environment) setenv(name.c_str(), value.c_str(), 1);
  StandinRuntime runtime(self, description);
  MainArguments arguments{&runtime, runtime.threads().take_stack(), &body, 0};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, arguments.stack.low, stack_bytes);
  pthread_t thread;
  pthread_create(&thread, &attributes, &main_of_rank, &arguments);
  pthread_join(thread, nullptr);
  std::fflush(stdout);
  _exit(arguments.status);
}

}  // namespace

int run_job(const JobDescription& description, const std::function<void()>& body) {
  void* memory = mmap(nullptr, sizeof(SharedWorld), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return -1;
  world = static_cast<SharedWorld*>(memory);
  std::fflush(stdout);
  std::vector<pid_t> processes;
  for (std::uint32_t rank = 0; rank < description.ranks; ++rank) {
    const pid_t process = fork();
    if (process == 0) run_rank(Rank{rank}, description, body);
    processes.push_back(process);
  }
  int result = 0;
  for (std::size_t ended = 0; ended < processes.size(); ++ended) {
    int status = 0;
    const pid_t process = waitpid(0, &status, 0);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (code == 0 || result != 0) continue;
    result = code;
    for (const pid_t other : processes) {
      if (other != process) kill(other, SIGKILL);  // the remaining processes may wait for the dead one
    }
  }
  munmap(memory, sizeof(SharedWorld));
  world = nullptr;
  return result;
}

void* shared_allocate(std::size_t alignment, std::size_t bytes) {
  const std::uint64_t rounded = bytes + alignment + 63;
  const std::uint64_t at = world->heap_used.fetch_add(rounded);
  if (at + rounded > heap_bytes) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(world->heap + at);
  return reinterpret_cast<void*>((address + alignment - 1) & ~(alignment - 1));
}

std::uint64_t trips_made() {
  return world->trips.load();
}

std::uint64_t barriers_passed() {
  return world->barriers.load();
}

}  // namespace musubi::testing
