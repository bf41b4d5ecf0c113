// The composition root on one host: the shm fabric, pages by mprotect or userfaultfd, the policy `migrating`.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "atomics/store_bounds.h"
#include "coherence/core/private_parts.h"
#include "fabric/shm/shm_fabric.h"
#include "os/yield_meter.h"
#include "remote_lock/queue_lock.h"
#include "runtime/address_plan.h"
#include "runtime/call_service.h"
#include "runtime/departure.h"
#include "runtime/heap_service.h"
#include "runtime/host_share.h"
#include "runtime/keeper.h"
#include "runtime/memory_watch.h"
#include "runtime/rank_memory.h"
#include "runtime/runtime.h"
#include "runtime/shared_regions.h"
#include "runtime/stack_slots.h"
#include "runtime/thread_executor.h"
#include "sync/barrier.h"
#include "sync/clock.h"
#include "sync/flag_order.h"
#include "sync/lock_table.h"
#include "sync/stand.h"
#include "vm/paged/paged_vm.h"
#include "vm/signal/alternate_stack.h"
#include "vm/signal/fault_handler.h"

namespace musubi::runtime {

class JobRuntime final : public Runtime,
                         private RemoteCalls,
                         private vm::FaultSink,
                         private vm::CrashListener,
                         private sync::Barrier::ReleaseListener {
 public:
  JobRuntime(const config::Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
             AddressPlan plan, std::span<const SharedRange> globals,
             std::span<const PrivateBytes> private_bytes);
  ~JobRuntime() override;
  // The part of start() that can fail.
  Result<void> open();

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return ranks_; }
  const config::Settings& settings() const noexcept override { return settings_; }
  const Layout& layout() const noexcept override { return plan_.layout; }
  trace::Counters& counters() noexcept override { return counters_; }

  void share_globals() override;
  void share_library(std::span<const SharedRange> ranges, std::span<const PrivateBytes> private_bytes,
                     bool own_bytes_win) override;
  bool attach_thread() override;
  void detach_thread() override;
  void add_stranger() noexcept override { strangers_.fetch_add(1); }
  void remove_stranger() noexcept override { strangers_.fetch_sub(1); }
  ThreadStack take_stack() override;
  void give_back_stack(const ThreadStack& stack) override;
  void note_stack(std::size_t slot, const void* low, const void* high) noexcept override {
    stacks_->note(slot, low, high);
  }

  void barrier(BarrierPayload& payload) override;
  void set_release_listener(Runtime::ReleaseListener* listener) override { release_listener_ = listener; }
  void begin_region(std::uintptr_t function, const void* argument) override;
  void end_region() override;
  void lock(LockId lock) override;
  bool try_lock(LockId lock) override;
  void unlock(LockId lock) override;
  void flush() override;
  void expect_flags() override;
  void suspect_flags() override;
  void release() override;
  void acquire() override;
  AtomicValue atomic(std::uintptr_t address, const AtomicOperation& operation) override;
  bool is_shared(std::uintptr_t address) const noexcept override {
    return ranks_ > 1 && plan_.space.segment_at(address) != nullptr;
  }

  std::uint64_t word_load(Rank owner, std::size_t index) override;
  void word_store(Rank owner, std::size_t index, std::uint64_t value) override;
  std::uint64_t word_fetch_add(Rank owner, std::size_t index, std::uint64_t amount) override;
  std::uint64_t word_compare_swap(Rank owner, std::size_t index, std::uint64_t expected,
                                  std::uint64_t desired) override;
  void allow_code(std::uintptr_t address) override;
  void store_zeros(void* address, std::size_t bytes) override;
  void touch(const void* address, std::size_t bytes, bool for_writing) override;

  Result<void> become_copy(CopySource& source) override;

  void set_heap_listener(HeapListener* listener) override { heap_->set_listener(listener); }
  void send_free(Rank owner, std::uintptr_t address, std::size_t bytes) override;
  std::size_t query_size(Rank owner, std::uintptr_t address) override;

  RemoteCalls& remote_calls() noexcept override { return *this; }

  void set_thread_count(std::uint32_t threads) noexcept override;
  void wait_local(const std::atomic<std::uint32_t>* word, std::uint32_t value) override;
  void wake_local(const std::atomic<std::uint32_t>* word) override;

  void finish(int status) override;
  void leave(int status) noexcept override;
  [[noreturn]] void abort(int status, std::string_view reason) override;

 private:
  bool on_fault(const vm::Fault& fault) noexcept override;
  void tell_crash(std::string_view cause) noexcept override { bootstrap_->tell_crash(cause); }
  bool tell_frames(std::span<const std::uintptr_t> frames) noexcept override {
    return bootstrap_->tell_frames(frames);
  }
  void on_released() noexcept override;
  bool may_execute(BlockId block) noexcept override;

  void serve(ProcedureId id, Procedure& procedure) noexcept override { calls_->serve(id, procedure); }
  Answer call(Rank callee, ProcedureId id, std::span<const std::byte> request,
              std::span<std::byte> reply) override;
  std::int64_t call_others(ProcedureId id, std::span<const std::byte> request) override;
  void begin_calls_thread();

  // Whether all threads that may touch shared memory are those of teams.
  bool knows_all_threads() const noexcept { return strangers_.load() == 0; }
  sync::Stand::Operation begin_operation() noexcept {
    return sync::Stand::Operation(stand_, [this] { return stacks_->in_use() > 1 || !knows_all_threads(); });
  }
  bool is_on_stack(const void* address) const noexcept;
  void enter_barrier(bool quiescent);
  void leave_barrier();
  void await_flag();
  void step_aside();
  void show_what_lock_covers();

  // Makes the range part of the shared space: zeros, but for private bytes and what has been put into the
  // system view before.
  void share_range(const SharedRange& range, std::span<const PrivateBytes> private_bytes);
  void add_private_parts(std::span<const PrivateBytes> private_bytes);
  Result<void> open_memory();
  Result<void> open_protocol();
  void serve();
  ThreadExecutor& executor();
  std::atomic_ref<std::uint64_t> word(Rank owner, std::size_t index);
  // Bits for the segments of the space, at rank 0.
  std::atomic_ref<std::uint64_t> segments_with_code() { return word(Rank{0}, word_of_code); }
  bool is_untouched(BlockId block, std::uint64_t data) const noexcept;
  void report();
  void print_races();
  void name_races();
  std::string place_name(std::uintptr_t address) const;
  void print_statistics();

  // Behind the team words: the statistics on their way to rank 0, then what the runtime itself agrees on.
  static constexpr std::size_t word_of_code = team_words + trace::counter_count;
  static constexpr std::size_t word_count = word_of_code + 1;

  const config::Settings settings_;
  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  const Rank self_;
  const std::uint32_t ranks_;
  const std::size_t notices_max_;  // of a signature
  AddressPlan plan_;
  const std::vector<SharedRange> globals_;
  const std::vector<PrivateBytes> private_bytes_;
  trace::Counters counters_;
  coherence::PrivateParts private_parts_;
  sync::ControlLayout control_layout_{};
  std::unique_ptr<MemoryFiles> memory_;
  std::unique_ptr<MemoryWatch> memory_watch_;
  std::unique_ptr<fabric::ShmFabric> fabric_;
  std::unique_ptr<SharedRegions> shared_regions_;
  std::unique_ptr<vm::FaultHandler> fault_handler_;
  std::unique_ptr<vm::PagedVm> vm_;
  std::string_view vm_driver_;  // its name
  remote_lock::Grants grants_;
  std::unique_ptr<coherence::Protocol> protocol_;
  std::unique_ptr<sync::Barrier> barrier_;
  Runtime::ReleaseListener* release_listener_ = nullptr;
  std::unique_ptr<sync::LockTable> locks_;
  std::unique_ptr<sync::Clock> clock_;
  std::unique_ptr<sync::FlagOrder> flags_;
  std::unique_ptr<HeapService> heap_;
  std::unique_ptr<CallService> calls_;
  std::unique_ptr<Departure> departure_;
  std::unique_ptr<StackSlots> stacks_;
  std::atomic<std::size_t> strangers_{0};
  sync::Stand stand_;
  atomics::StoreBounds store_bounds_;
  bool barrier_was_quiescent_ = false;  // the last one, for who called it
  std::uint64_t barrier_part_ns_ = 0;   // when the present part of a barrier began; 0: not traced
  HostShare host_;
  std::atomic<std::uint32_t> spin_checks_{0};
  std::atomic<std::uint32_t> yields_{0};
  os::YieldMeter yield_meter_;
  std::atomic<bool> stopping_{false};
  std::thread service_;
  std::unique_ptr<Keeper> keeper_;  // null: there is no background
};

}  // namespace musubi::runtime
