#include "runtime/job_runtime.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "base/frame_pool.h"
#include "coherence/core/signature.h"
#include "os/control_group.h"
#include "os/cpu.h"
#include "os/futex.h"
#include "os/touch.h"
#include "runtime/choose_vm.h"
#include "runtime/compare_settings.h"
#include "runtime/solo_protocol.h"
#include "runtime/time_spent.h"
#include "runtime/tracing.h"
#include "runtime/waiting.h"

namespace musubi::runtime {
namespace {

using trace::Counter;

// What the calling thread needs to work on shared memory. A signal handler must find it without an argument:
// hence one thread-local pointer below the front ends.
struct ThreadContext {
  vm::AlternateStack alternate_stack;
};
constinit thread_local ThreadContext* context_of_thread = nullptr;
constinit thread_local ThreadExecutor* executor_of_thread = nullptr;

coherence::Parameters parameters_from(const config::Settings& settings, std::size_t notices_max) {
  coherence::Parameters parameters;
  parameters.lease_ticks = settings.lease_ticks;
  parameters.signature_notices_max = notices_max;
  parameters.release_window = settings.release_window;
  parameters.downgrade_after_releases = static_cast<std::uint32_t>(settings.downgrade_after_releases);
  parameters.read_retries_max = static_cast<std::uint32_t>(settings.read_retries_max);
  parameters.leave_unpublished = settings.leave_unpublished;
  parameters.look_after_releases = static_cast<std::uint32_t>(settings.look_after_releases);
  parameters.cached_bytes = settings.cached_bytes;
  parameters.give_back_after_releases = static_cast<std::uint32_t>(settings.give_back_after_releases);
  parameters.run_bytes_max = settings.run_bytes_max;
  parameters.fetches_ahead_max = static_cast<std::uint32_t>(settings.fetches_ahead_max);
  parameters.lease_probe_releases = static_cast<std::uint32_t>(settings.lease_probe_releases);
  parameters.report_races = settings.report_races;
  return parameters;
}

}  // namespace

Result<std::unique_ptr<Runtime>> Runtime::start(const config::Settings& settings,
                                                std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                                                std::span<const SharedRange> globals,
                                                std::span<const PrivateBytes> private_bytes) {
  auto settings_of_ranks = bootstrap->all_gather(collective_settings(settings));
  if (!settings_of_ranks) return settings_of_ranks.error();
  if (const std::string difference = settings_difference(settings_of_ranks.value()); !difference.empty()) {
    if (bootstrap->self() == Rank{0}) bootstrap->abort(125, difference);
    ::pause();  // rank 0 ends the job
  }
  // A single rank keeps its globals where they are.
  if (bootstrap->ranks() == 1) globals = {};
  auto plan = AddressPlan::make(settings, bootstrap->ranks(), globals);
  if (!plan) return plan.error();
  auto runtime = std::make_unique<JobRuntime>(settings, std::move(bootstrap), std::move(plan).value(),
                                              globals, private_bytes);
  if (auto opened = runtime->open(); !opened) return opened.error();
  return std::unique_ptr<Runtime>(std::move(runtime));
}

JobRuntime::JobRuntime(const config::Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                       AddressPlan plan, std::span<const SharedRange> globals,
                       std::span<const PrivateBytes> private_bytes)
    : settings_(settings),
      bootstrap_(std::move(bootstrap)),
      self_(bootstrap_->self()),
      ranks_(bootstrap_->ranks()),
      notices_max_(settings.signature_notices_max.value_or(coherence::signature_notices_for(ranks_))),
      plan_(std::move(plan)),
      globals_(globals.begin(), globals.end()),
      private_bytes_(private_bytes.begin(), private_bytes.end()) {}

JobRuntime::~JobRuntime() {
  keeper_.reset();
  stopping_.store(true);
  if (service_.joinable()) {
    fabric_->wake_service();
    service_.join();
  }
}

Result<void> JobRuntime::open() {
  const std::string prefix = "rank " + std::to_string(self_.value);
  set_check_prefix(prefix.c_str());
  start_tracing(bootstrap_->event_log());
  auto host = find_host_share(*bootstrap_, os::allowed_core_set());
  if (!host) return host.error();
  host_ = host.value();
  if (auto opened = open_memory(); !opened) return opened;
  if (auto opened = open_protocol(); !opened) return opened;
  attach_thread();
  // The service thread and the keeper take no signals of the program.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  service_ = std::thread([this] { serve(); });
  if (ranks_ > 1 && settings_.background_sync.count() != 0) {
    keeper_ = std::make_unique<Keeper>(
        *fabric_, *flags_, *protocol_, stand_, counters_,
        static_cast<std::uint64_t>(settings_.background_sync.count()),
        control_layout_.flag_words + sync::FlagOrder::requests_word * sizeof(std::uint64_t),
        bootstrap_->wait_board());
    keeper_->start();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return {};
}

Result<void> JobRuntime::open_memory() {
  sync::ControlSizes sizes;
  sizes.ranks = ranks_;
  sizes.notices_max = notices_max_;
  sizes.signature_bytes = coherence::signature_bytes(notices_max_);
  sizes.lock_count = lock_count;
  sizes.team_words = word_count;
  control_layout_ = sync::ControlLayout::of(sizes);
  auto memory = MemoryFiles::make(plan_.space, control_layout_);
  if (!memory) return memory.error();
  memory_ = std::move(memory).value();
  memory_watch_ = std::make_unique<MemoryWatch>(memory_->block_files(), settings_.memory_max, host_.ranks,
                                                [] { return os::memory_bytes_left(); });

  const fabric::WaitingPolicy policy =
      waiting_policy_on(host_, settings_, static_cast<std::uint32_t>(settings_.threads_per_rank));
  spin_checks_.store(policy.spin_checks);
  yields_.store(policy.yields);
  auto chosen = choose_vm(settings_, ranks_, host_, plan_.space, memory_->private_file(), *this, counters_);
  if (!chosen) return chosen.error();
  vm_ = std::move(chosen.value().vm);
  vm_driver_ = chosen.value().name;
  const auto regions = memory_->regions(vm_->system_view());
  auto opened = fabric::ShmFabric::open(
      self_, ranks_, regions, [this](std::string_view blob) { return bootstrap_->all_gather(blob); },
      counters_, policy);
  if (!opened) return opened.error();
  fabric_ = std::move(opened).value();

  for (const std::size_t segment : {plan_.heap_segment, plan_.stacks_segment}) {
    if (auto mapped = vm_->map_segment(segment, vm::Placement::fresh); !mapped) return mapped;
  }
  fault_handler_ = std::make_unique<vm::FaultHandler>(self_);
  fault_handler_->install();
  if (bootstrap_->tells_crashes()) fault_handler_->set_crash_listener(this, settings_.runtime_frames);
  fault_handler_->add_owner(SIGSEGV, *vm_);
  fault_handler_->add_owner(SIGBUS, *vm_);
  shared_regions_ = std::make_unique<SharedRegions>(*fabric_, regions);
  fault_handler_->add_owner(SIGBUS, *shared_regions_);
  return {};
}

Result<void> JobRuntime::open_protocol() {
  add_private_parts(private_bytes_);
  fabric_->listen(fabric::MessageKind::lock_granted, &grants_);
  if (ranks_ == 1) {
    protocol_ = std::make_unique<SoloProtocol>(plan_.space, *vm_);
    // Stacks are opened one by one, above their guards.
    if (auto opened = vm_->leave_segment_open(plan_.heap_segment); !opened) return opened;
  } else {
    const coherence::RankMemory memory{vm_->system_view(),
                                       memory_->published(),
                                       memory_->words(),
                                       memory_->entries(),
                                       memory_->control() + control_layout_.signature,
                                       memory_.get()};
    protocol_ =
        std::make_unique<coherence::Migrating>(plan_.space, *fabric_, *vm_, counters_, grants_, memory,
                                               parameters_from(settings_, notices_max_), &private_parts_);
  }
  barrier_ = std::make_unique<sync::Barrier>(*fabric_, *protocol_, counters_,
                                             memory_->control() + control_layout_.barrier_board,
                                             control_layout_.barrier_board, notices_max_);
  barrier_->set_release_listener(this);
  locks_ = std::make_unique<sync::LockTable>(
      *fabric_, *protocol_, counters_, grants_, memory_->control() + control_layout_.lock_words,
      control_layout_.lock_words, lock_count, control_layout_.signature, notices_max_);
  clock_ = std::make_unique<sync::Clock>(*fabric_, *protocol_, control_layout_.clock_word);
  flags_ = std::make_unique<sync::FlagOrder>(
      *fabric_, *protocol_, *clock_, memory_->control() + control_layout_.flag_words,
      control_layout_.flag_words, control_layout_.signature, notices_max_);
  heap_ = std::make_unique<HeapService>(*fabric_);
  calls_ = std::make_unique<CallService>(*fabric_, counters_, [this] { begin_calls_thread(); });
  departure_ = std::make_unique<Departure>(*fabric_);
  stacks_ =
      std::make_unique<StackSlots>(plan_.space, plan_.layout, self_, settings_.stack_block_bytes, *protocol_);
  // Nobody may send before everybody listens.
  auto all = bootstrap_->all_gather("listening");
  if (!all) return all.error();
  return {};
}

// Messages that arrive while no thread of the rank looks.
void JobRuntime::serve() {
  while (!stopping_.load()) {
    const bool idle = !fabric_->progress();
    const bool answered = heap_->serve();
    if (departure_->announced()) Departure::follow();
    calls_->keep_up();
    if (memory_watch_->is_due()) {
      if (const std::string line = memory_watch_->shortage(); !line.empty()) abort(1, line);
    }
    if (!answered) {
      ::sched_yield();  // the asker waits, and so empties its mailbox
    } else if (idle) {
      fabric_->wait_for_service();
    }
  }
}

bool JobRuntime::attach_thread() {
  if (context_of_thread != nullptr) return false;
  context_of_thread = new ThreadContext;
  open_wait_record(bootstrap_->wait_board());
  while (stand_.operates()) step_aside();
  if (auto installed = context_of_thread->alternate_stack.install(); !installed) {
    abort(1, installed.error().message);
  }
  executor();
  return true;
}

void JobRuntime::detach_thread() {
  if (context_of_thread == nullptr) return;
  close_wait_record();
  close_event_ring();
  delete context_of_thread;
  context_of_thread = nullptr;
}

// Threads that libraries start are not attached: they get their executor at their first fault, without
// malloc, and keep it until they end.
ThreadExecutor& JobRuntime::executor() {
  if (executor_of_thread == nullptr) {
    executor_of_thread = new (frame_allocate(sizeof(ThreadExecutor))) ThreadExecutor(*fabric_, counters_);
  }
  return *executor_of_thread;
}

ThreadStack JobRuntime::take_stack() {
  ThreadStack stack;
  if (!stacks_->take(&stack)) {
    abort(1, "rank " + std::to_string(self_.value) +
                 " has no stack left for another thread: start fewer threads");
  }
  const auto low = reinterpret_cast<std::uintptr_t>(stack.low);
  const auto high = reinterpret_cast<std::uintptr_t>(stack.high);
  fault_handler_->register_stack(low - settings_.stack_block_bytes, high, settings_.stack_block_bytes);
  return stack;
}

void JobRuntime::give_back_stack(const ThreadStack& stack) {
  fault_handler_->unregister_stack(reinterpret_cast<std::uintptr_t>(stack.low) - settings_.stack_block_bytes);
  stacks_->give_back(stack);
}

bool JobRuntime::on_fault(const vm::Fault& fault) noexcept {
  const BlockId block = fault.block;
  const vm::Segment& stacks = plan_.space.segments()[plan_.stacks_segment];
  const bool in_stacks = block.value - stacks.first_block.value < stacks.blocks;
  // An own stack is pinned: a fault there is one of its guard, or of a slot that is not in use.
  if (in_stacks && plan_.space.initial_home(block) == self_) return false;
  TimeSpent time(counters_, Counter::fault_ns);
  const Traced traced(fault.wanted == vm::Access::write ? Event::write_fault : Event::read_fault,
                      fault.address);
  const std::size_t bytes = std::max(plan_.space.segment_of(block).block_bytes, settings_.run_bytes_max);
  switch (memory_watch_->opening(bytes)) {
    case MemoryWatch::Verdict::go_on:
      break;
    case MemoryWatch::Verdict::look:
      fabric_->wake_service();
      break;
    case MemoryWatch::Verdict::stop:
      abort(1, memory_watch_->limit_message().text);
  }
  const coherence::Touch touch{fault.wanted, fault.address};
  if (!flags_->in_use()) return executor().run(flags_->fault(block, touch, true));
  const sync::Stand::Operation operation = begin_operation();
  return executor().run(flags_->fault(block, touch, operation.siblings()));
}

std::atomic_ref<std::uint64_t> JobRuntime::word(Rank owner, std::size_t index) {
  MUSUBI_CHECK(index < word_count);
  if (owner != self_) counters_.add(Counter::remote_operations);
  std::byte* region = fabric_->direct(owner, coherence::control_region);
  return std::atomic_ref<std::uint64_t>(
      reinterpret_cast<std::uint64_t*>(region + control_layout_.team_words)[index]);
}

std::uint64_t JobRuntime::word_load(Rank owner, std::size_t index) {
  return word(owner, index).load();
}
void JobRuntime::word_store(Rank owner, std::size_t index, std::uint64_t value) {
  word(owner, index).store(value);
}
std::uint64_t JobRuntime::word_fetch_add(Rank owner, std::size_t index, std::uint64_t amount) {
  return word(owner, index).fetch_add(amount);
}
std::uint64_t JobRuntime::word_compare_swap(Rank owner, std::size_t index, std::uint64_t expected,
                                            std::uint64_t desired) {
  word(owner, index).compare_exchange_strong(expected, desired);
  return expected;
}

void JobRuntime::touch(const void* address, std::size_t bytes, bool for_writing) {
  if (bytes == 0) return;
  const std::size_t page = os::page_bytes();
  auto* byte = static_cast<volatile unsigned char*>(const_cast<void*>(address));
  volatile unsigned char* const last = byte + bytes - 1;
  while (byte <= last) {
    for_writing ? os::touch_for_writing(byte) : os::touch_for_reading(byte);
    byte += page - reinterpret_cast<std::uintptr_t>(byte) % page;
  }
}

Result<void> JobRuntime::become_copy(CopySource& source) {
  stop_tracing();
  return vm_->become_copy(source);
}

void JobRuntime::send_free(Rank owner, std::uintptr_t address, std::size_t bytes) {
  executor().run(heap_->send_free(owner, address, bytes));
}
std::size_t JobRuntime::query_size(Rank owner, std::uintptr_t address) {
  return executor().run(heap_->query_size(owner, address));
}

void JobRuntime::set_thread_count(std::uint32_t threads) noexcept {
  const fabric::WaitingPolicy policy = waiting_policy_on(host_, settings_, threads);
  spin_checks_.store(policy.spin_checks, std::memory_order_relaxed);
  yields_.store(policy.yields, std::memory_order_relaxed);
  fabric_->set_policy(policy);
}

void JobRuntime::wait_local(const std::atomic<std::uint32_t>* word, std::uint32_t value) {
  const auto differs = [&] { return word->load(std::memory_order_acquire) != value; };
  const std::uint32_t spins = spin_checks_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < spins; ++i) {
    if (differs()) return;
    os::pause_instruction();
  }
  if (differs() || yield_meter_.yield_until(yields_.load(std::memory_order_relaxed), differs)) return;
  while (!differs()) os::futex_wait(*word, value);
}

void JobRuntime::wake_local(const std::atomic<std::uint32_t>* word) {
  os::futex_wake(*word);
}

}  // namespace musubi::runtime
