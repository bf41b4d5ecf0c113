// The threads of a rank that touch shared memory: their records, their stacks, and how they wait.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/spin_lock.h"
#include "coherence/protocol.h"
#include "os/yield_meter.h"
#include "runtime/api/memory.h"
#include "runtime/api/threads.h"
#include "runtime/job/job_devices.h"
#include "runtime/threads/thread_executor.h"
#include "sync/rank_activity.h"
#include "vm/space.h"

namespace musubi::runtime {

// The stacks of this rank's threads in the shared range: the slots in use, and the used depth of each.
class StackSlots {
 public:
  StackSlots(const vm::Space& space, const Layout& layout, Rank self, coherence::Protocol& protocol)
      : space_(space),
        layout_(layout),
        protocol_(protocol),
        base_(layout.stacks_base + self.value * layout.stack_slot_bytes * layout.stack_slots_per_rank),
        used_(layout.stack_slots_per_rank, Use::never) {}

  // Result: false if all slots are in use.
  bool take(ThreadStack* stack) {
    lock_.lock();
    std::size_t slot = 0;
    while (slot < used_.size() && used_[slot] == Use::now) ++slot;
    const bool found = slot < used_.size();
    const bool fresh = found && used_[slot] == Use::never;
    if (found) {
      used_[slot] = Use::now;
      in_use_.fetch_add(1);
    }
    lock_.unlock();
    if (!found) return false;
    const std::uintptr_t low = base_ + slot * layout_.stack_slot_bytes + layout_.stack_guard_bytes;
    const std::uintptr_t high = base_ + (slot + 1) * layout_.stack_slot_bytes;
    if (fresh) {  // pinned permanently
      const std::uint64_t first = space_.block_at(low)->value;
      protocol_.pin(BlockId{first}, space_.block_at(high - 1)->value - first + 1);
    }
    *stack = ThreadStack{reinterpret_cast<std::byte*>(low), reinterpret_cast<std::byte*>(high), slot};
    return true;
  }
  void give_back(const ThreadStack& stack) {
    protocol_.note_stack(stack.slot, 0, 0);
    lock_.lock();
    used_[stack.slot] = Use::before;
    in_use_.fetch_sub(1);
    lock_.unlock();
  }
  std::size_t in_use() const { return in_use_.load(); }
  void note(std::size_t slot, const void* low, const void* high) {
    protocol_.note_stack(slot, reinterpret_cast<std::uintptr_t>(low), reinterpret_cast<std::uintptr_t>(high));
  }

 private:
  enum class Use : unsigned char { never, before, now };

  const vm::Space& space_;
  const Layout& layout_;
  coherence::Protocol& protocol_;
  std::uintptr_t base_;
  SpinLock lock_;
  std::vector<Use> used_;
  std::atomic<std::size_t> in_use_{0};
};

class JobThreads final : public Threads {
 public:
  JobThreads(JobContext& job, JobDevices& devices, coherence::Protocol& protocol);

  bool attach() override;
  void detach() override;
  void add_outsider() noexcept override { outsiders_.fetch_add(1); }
  void remove_outsider() noexcept override { outsiders_.fetch_sub(1); }
  void expect_outsiders() noexcept override { activity_.expect_others(); }
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
    const DeferredHandlers handlers_;
    ThreadExecutor& executor_;
  };
  // Threads that libraries start are not attached, and get their executor at their first fault.
  Entry executor() { return Entry(*this); }

  bool has_outsiders() const noexcept { return outsiders_.load() != 0; }
  // Whether several threads may be in program code at this moment. More may come at any time.
  bool runs_several() const noexcept {
    return stacks_.in_use() > 1 || has_outsiders() || has_assistant_.load();
  }
  // Whether only threads of teams may touch shared memory.
  bool knows_all() const noexcept { return !has_outsiders() && !activity_.expects_others(); }
  // Threads of the runtime release and acquire next to the program's, from now on.
  void add_assistant() noexcept { has_assistant_.store(true); }
  sync::RankActivity& activity() noexcept { return activity_; }
  class Operation {
   public:
    explicit Operation(JobThreads& threads)
        : operation_(threads.activity_, [&] { return threads.has_siblings(); }) {}
    bool siblings() const { return operation_.siblings(); }

   private:
    const DeferredHandlers handlers_;
    const sync::RankActivity::Operation operation_;
  };
  Operation begin_operation() noexcept { return Operation(*this); }

  // Yields the core for a moment.
  void step_aside();
  static void nap() noexcept;
  // Whether threads outnumber the cores, so that a waiting thread should yield its core.
  bool share_cores() const noexcept { return yields_.load(std::memory_order_relaxed) != 0; }

 private:
  bool has_siblings() const noexcept { return runs_several() || activity_.expects_others(); }
  void watch_guard(const ThreadStack& stack);

  JobContext& job_;
  JobDevices& devices_;
  StackSlots stacks_;
  std::atomic<std::size_t> outsiders_{0};
  std::atomic<bool> has_assistant_{false};
  sync::RankActivity activity_;
  std::atomic<std::uint32_t> spin_checks_;
  std::atomic<std::uint32_t> yields_;
  os::YieldMeter yield_meter_;
};

}  // namespace musubi::runtime
