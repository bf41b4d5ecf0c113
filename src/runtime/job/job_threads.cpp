#include "runtime/job/job_threads.h"

#include <string>

#include "os/clock.h"
#include "os/cpu.h"
#include "os/futex.h"
#include "runtime/threads/tracing.h"
#include "runtime/threads/waiting.h"
#include "vm/signal/alternate_stack.h"

namespace musubi::runtime {
namespace {

// Of an attached thread; thread-local because a signal handler has no argument to carry it.
struct ThreadContext {
  vm::AlternateStack alternate_stack;
};
constinit thread_local ThreadContext* context_of_thread = nullptr;

}  // namespace

JobThreads::JobThreads(JobContext& job, JobDevices& devices, coherence::Protocol& protocol)
    : job_(job), devices_(devices), stacks_(job.plan.space, job.plan.layout, job.self, protocol) {
  const Layout& layout = job.plan.layout;
  devices.fault_handler().set_place_of_stacks(
      layout.stacks_base,
      layout.stacks_base + layout.stack_slot_bytes * layout.stack_slots_per_rank * job.bootstrap->ranks());
  const fabric::WaitingPolicy policy =
      devices.policy_for(static_cast<std::uint32_t>(job.settings.threads_per_rank));
  spin_checks_.store(policy.spin_checks);
  yields_.store(policy.yields);
}

bool JobThreads::attach() {
  if (context_of_thread != nullptr) return false;
  context_of_thread = new ThreadContext;
  open_wait_record(job_.bootstrap->wait_board());
  while (activity_.operates()) step_aside();
  if (auto installed = context_of_thread->alternate_stack.install(); !installed) {
    job_.abort(1, installed.error().message);
  }
  executor();
  return true;
}

void JobThreads::detach() {
  if (context_of_thread == nullptr) return;
  close_wait_record();
  close_event_ring();
  delete context_of_thread;
  context_of_thread = nullptr;
  ThreadExecutor::forget_this_thread();
}

ThreadStack JobThreads::take_stack() {
  ThreadStack stack;
  if (!stacks_.take(&stack)) {
    job_.abort(1, "rank " + std::to_string(job_.self.value) +
                      " has no stack left for another thread: start fewer threads");
  }
  watch_guard(stack);
  return stack;
}

std::optional<ThreadStack> JobThreads::take_spare_stack() {
  ThreadStack stack;
  if (stacks_.in_use() >= job_.plan.layout.stack_slots_per_rank / 2 || !stacks_.take(&stack)) return {};
  watch_guard(stack);
  return stack;
}

void JobThreads::watch_guard(const ThreadStack& stack) {
  const auto low = reinterpret_cast<std::uintptr_t>(stack.low);
  const auto high = reinterpret_cast<std::uintptr_t>(stack.high);
  const std::size_t guard_bytes = job_.plan.layout.stack_guard_bytes;
  devices_.fault_handler().register_stack(low - guard_bytes, high, guard_bytes);
}

void JobThreads::give_back_stack(const ThreadStack& stack) {
  devices_.fault_handler().unregister_stack(reinterpret_cast<std::uintptr_t>(stack.low) -
                                            job_.plan.layout.stack_guard_bytes);
  stacks_.give_back(stack);
}

void JobThreads::set_count(std::uint32_t threads) noexcept {
  const fabric::WaitingPolicy policy = devices_.policy_for(threads);
  spin_checks_.store(policy.spin_checks, std::memory_order_relaxed);
  yields_.store(policy.yields, std::memory_order_relaxed);
  devices_.set_policy(policy);
}

bool JobThreads::look_local(const std::atomic<std::uint32_t>* word, std::uint32_t value) {
  const auto differs = [&] { return word->load(std::memory_order_acquire) != value; };
  const std::uint32_t spins = spin_checks_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < spins; ++i) {
    if (differs()) return true;
    os::pause_instruction();
  }
  return differs() || yield_meter_.yield_until(yields_.load(std::memory_order_relaxed), differs);
}

void JobThreads::wait_local(const std::atomic<std::uint32_t>* word, std::uint32_t value) {
  if (look_local(word, value)) return;
  const Waiting wait(Wait::peer);
  while (word->load(std::memory_order_acquire) == value) os::futex_wait(*word, value);
}

void JobThreads::wake_local(const std::atomic<std::uint32_t>* word) {
  os::futex_wake(*word);
}

void JobThreads::step_aside() {
  if (yield_meter_.allowed(1) != 0) {
    yield_meter_.yield();
  } else {
    nap();
  }
}

void JobThreads::nap() noexcept {
  os::sleep_ns(50'000);
}

}  // namespace musubi::runtime
