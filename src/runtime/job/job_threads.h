// The threads of a rank that touch shared memory: their records, their stacks, and how they wait.
#pragma once

#include <atomic>
#include <utility>

#include "coherence/protocol.h"
#include "os/yield_meter.h"
#include "runtime/api/threads.h"
#include "runtime/job/job_devices.h"
#include "runtime/job/stack_slots.h"
#include "runtime/threads/thread_executor.h"
#include "sync/stand.h"

namespace musubi::runtime {

class JobThreads final : public Threads {
 public:
  JobThreads(JobContext& job, JobDevices& devices, coherence::Protocol& protocol);

  bool attach() override;
  void detach() override;
  void add_outsider() noexcept override { outsiders_.fetch_add(1); }
  void remove_outsider() noexcept override { outsiders_.fetch_sub(1); }
  ThreadStack take_stack() override;
  std::optional<ThreadStack> take_spare_stack() override;
  void give_back_stack(const ThreadStack& stack) override;
  void note_stack(std::size_t slot, const void* low, const void* high) noexcept override {
    stacks_.note(slot, low, high);
  }
  void set_count(std::uint32_t threads) noexcept override;
  void wait_local(const std::atomic<std::uint32_t>* word, std::uint32_t value) override;
  // The part of wait_local() before it sleeps. Result: whether the word has changed.
  bool look_local(const std::atomic<std::uint32_t>* word, std::uint32_t value);
  void wake_local(const std::atomic<std::uint32_t>* word) override;

  // A thread inside the runtime, on its executor: handlers of the program are deferred from before a task is
  // made until it has been destroyed.
  class Entry {
   public:
    explicit Entry(JobThreads& threads)
        : executor_(ThreadExecutor::of_this_thread(threads.devices_.fabric(), threads.job_.counters)) {}
    template <class T>
    T run(Task<T> task) {
      return executor_.run(std::move(task));
    }

   private:
    const HandlersPostponed handlers_;
    ThreadExecutor& executor_;
  };
  // Threads that libraries start are not attached, and get their executor at their first fault.
  Entry executor() { return Entry(*this); }

  // Whether only threads of teams may touch shared memory.
  bool knows_all() const noexcept { return outsiders_.load() == 0; }
  sync::Stand& stand() noexcept { return stand_; }
  class Operation {
   public:
    explicit Operation(JobThreads& threads)
        : operation_(threads.stand_, [&] { return threads.stacks_.in_use() > 1 || !threads.knows_all(); }) {}
    bool siblings() const { return operation_.siblings(); }

   private:
    const HandlersPostponed handlers_;
    const sync::Stand::Operation operation_;
  };
  Operation begin_operation() noexcept { return Operation(*this); }

  // Yields the core for a moment.
  void step_aside();
  static void nap() noexcept;
  // Whether threads outnumber the cores, so that a waiting thread should yield its core.
  bool share_cores() const noexcept { return yields_.load(std::memory_order_relaxed) != 0; }

 private:
  void watch_guard(const ThreadStack& stack);

  JobContext& job_;
  JobDevices& devices_;
  StackSlots stacks_;
  std::atomic<std::size_t> outsiders_{0};
  sync::Stand stand_;
  std::atomic<std::uint32_t> spin_checks_;
  std::atomic<std::uint32_t> yields_;
  os::YieldMeter yield_meter_;
};

}  // namespace musubi::runtime
