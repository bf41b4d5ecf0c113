// One simulated rank: memory, software MMU, protocol and synchronisation over the simulated fabric, and
// the operations of a program as tasks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "coherence/core/private_parts.h"
#include "coherence/core/signature.h"
#include "coherence/core/visit_layout.h"
#include "coherence/protocol.h"
#include "remote_lock/queue_lock.h"
#include "simulator/fabric/sim_fabric.h"
#include "simulator/make_protocol.h"
#include "simulator/policy.h"
#include "simulator/vm/soft_vm.h"
#include "simulator/zero_array.h"
#include "sync/background.h"
#include "sync/barrier.h"
#include "sync/clock.h"
#include "sync/conditions.h"
#include "sync/control_layout.h"
#include "sync/flag_order.h"
#include "sync/lock_table.h"
#include "sync/openings.h"
#include "sync/rank_activity.h"
#include "sync/reader_writer_locks.h"
#include "sync/room_keeper.h"
#include "sync/wait_records.h"
#include "task_stealing/signature_order.h"
#include "vm/space.h"

namespace musubi::sim {

struct NodeOptions {
  Policy policy = Policy::migrating;
  coherence::Parameters protocol;  // its hooks are the node's affair
  InjectedBug bug = InjectedBug::none;
  std::uint32_t threads = 1;    // that meet at barriers
  std::uint32_t outsiders = 0;  // threads that come to no barrier
  std::uint32_t locks = 1;
  unsigned preemption = 0;            // percent of accesses that may happen inside a change of protection
  unsigned wrong_habits = 0;          // percent of the uses of a block that find random habits
  unsigned interruption = 0;          // percent of the places inside the protocol where other tasks run
  bool coarse_faults = false;         // a write fault of an invalid block says "read" first
  bool plain_flags = false;           // the program hands data over by plain flags
  bool background = false;            // a thread polls in the background
  std::uint32_t lock_uses = 0;        // in a row, until a lock stays; 0: none does
  std::size_t room_bytes = 0;         // memory for blocks; 0: for all
  std::size_t parcel_bytes = 4096;    // of entry::Sizes
  std::uint64_t unused_barriers = 0;  // of coherence::EntryMemory
};

class Node {
 public:
  // `space` and `private_parts` (may be null) outlive the node.
  Node(fabric::sim::SimFabric& fabric, const vm::Space& space, const coherence::PrivateParts* private_parts,
       const NodeOptions& options);

  // Accesses inside one block, at the instant at which the task continues. Nothing of the world happens
  // between the look at the access table and the access.
  Task<> read(BlockId block, std::size_t begin, std::span<std::byte> into);
  Task<> write(BlockId block, std::size_t begin, std::span<const std::byte> from);
  // Before accesses, as sync::Openings.
  Task<> open_all(std::span<const AddressRange> ranges, vm::Access wanted);
  Task<> overwrite(AddressRange range);
  Task<> written(AddressRange range);
  Task<> open_for_stores(AddressRange range) { return openings_.open_for_stores(range, true); }

  // All threads of the node meet, one of them arrives at the job's barrier; then `payload` is that of rank
  // 0's last thread.
  Task<> barrier(sync::Barrier::Payload& payload);

  coherence::Protocol& protocol() { return *protocol_; }
  // Null where no segment has that policy.
  const coherence::Migrating* migrating() const { return made_.migrating; }
  // Null where no segment has the policy entry.
  coherence::PageManagers* page_managers() { return made_.page_managers; }
  sync::LockTable& locks() { return locks_; }
  sync::Clock& clock() { return clock_; }
  sync::Background& background() { return background_; }
  // Its tasks, one at a time.
  Task<> answer();
  Task<> poll();
  // omp flush.
  Task<> flush();
  // The caller alone uses the block, and has no use for its bytes. Result: whether it is zeros now.
  Task<bool> discard(BlockId block);
  // Without a partner, by the channel's clock.
  Task<> release(sync::Channel channel = 0);
  Task<> acquire(sync::Channel channel = 0);
  // As sync::FlagOrder. barrier() ends it.
  Task<> begin_alone() { return flags_.begin_alone(); }
  Task<> join_lone_rank() { return flags_.join_lone_rank(); }
  // Before an operation by which threads may meet.
  Task<> renew_order() { return flags_.renew(); }
  Task<> lock(LockId lock);
  Task<bool> try_lock(LockId lock);
  Task<> modify(BlockId block, coherence::Modification& modification);
  Task<> unlock(LockId lock);
  // Numbers below options.locks, as for locks.
  Task<> lock(RwLockId lock, sync::Share share);
  Task<bool> try_lock(RwLockId lock, sync::Share share);
  Task<> unlock(RwLockId lock, sync::Share share);
  // `lock` is held. `patience_ns`: as long as it waits at most; 0: for ever. Result: whether it was chosen.
  Task<bool> wait(ConditionId condition, LockId lock, std::uint64_t patience_ns = 0);
  sync::Conditions& conditions() { return conditions_; }
  // One of `threads` threads at a barrier of threads. Result: whether it was the last.
  Task<bool> pass_barrier(std::uint64_t name, std::uint32_t threads);
  // For tasks that travel.
  task_stealing::Order& order() { return order_; }
  // From now on threads run that come to no barrier, and touch nothing during one.
  void add_assistant() { has_assistant_ = true; }
  fabric::sim::SimFabric& fabric() { return fabric_; }
  fabric::sim::SimExecutor& executor() { return fabric_.executor(); }
  // For one more thread.
  fabric::sim::SimExecutor& add_thread() { return fabric_.add_thread(); }
  trace::Counters& counters() { return fabric_.counters(); }
  const coherence::RaceLog& races() const { return races_; }
  const vm::SoftVm& vm() const { return vm_.table(); }
  Rank self() const { return fabric_.self(); }

  std::byte* private_bytes(BlockId block) { return private_.data() + space_.extent(block).offset; }
  const coherence::BlockWords& words(BlockId block) const { return words_[block.value]; }
  const coherence::Entry& entry(BlockId block) const { return entries_[block.value]; }
  // Whether the memory of its public copy was given back, and nothing written there since.
  bool is_given_back(BlockId block) const;

 private:
  // An access that its thread is about to make: it happens when the thread goes on, or before that in the
  // middle of the protocol's work, just before a block is closed or just after it was opened. Threads of one
  // process can do that. On an unprotected segment it happens even if the block was closed since the check.
  struct PendingAccess {
    BlockId block;
    std::size_t begin;
    std::byte* bytes;
    std::size_t count;
    vm::Access wanted;
    bool done = false;
    bool is_checked = false;  // of an unprotected segment, after the check: the block need not be open
    PendingAccess* next = nullptr;
  };
  // Spoils public copies that are given back, to find late readers.
  class SoftPages final : public coherence::BlockPages {
   public:
    explicit SoftPages(Node& node) : node_(node) {}
    bool give_back(std::size_t offset, std::size_t bytes) noexcept override;
    bool throw_out(std::size_t offset, std::size_t bytes) noexcept override;

   private:
    Node& node_;
  };
  class Interrupted final : public Interruption {
   public:
    explicit Interrupted(Node& node) : node_(node) {}
    void pass() noexcept override;
    void touch() noexcept override;
    std::size_t stretch(std::size_t bytes) noexcept override;
    void spoil(std::byte* guesses, std::size_t bytes) noexcept override;

   private:
    Node& node_;
  };
  class PreemptedVm final : public vm::Vm {
   public:
    PreemptedVm(Node& node, std::uint64_t blocks) : node_(node), table_(blocks) {}
    void open_read(vm::BlockRun run) noexcept override;
    void open_write(vm::BlockRun run) noexcept override;
    void upgrade(vm::BlockRun run) noexcept override;
    void downgrade(vm::BlockRun run) noexcept override;
    void close(vm::BlockRun run) noexcept override;
    void leave_open(vm::BlockRun run) noexcept override;
    void open_stores(vm::BlockRun run) noexcept override;
    const vm::SoftVm& table() const { return table_; }

   private:
    Node& node_;
    vm::SoftVm table_;
  };
  // A thread of its own answers each request where locks stay; else the background looks by itself.
  class Bell final : public sync::Bell, private fabric::Listener {
   public:
    explicit Bell(Node& node);
    bool ring(Rank peer) noexcept override;

   private:
    const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

    Node& node_;
  };
  // Frees the locks that stay.
  class Released final : public sync::Barrier::ReleaseListener {
   public:
    explicit Released(Node& node) : node_(node) {}
    void on_released() noexcept override;

   private:
    Node& node_;
  };
  // Memory for so many bytes of blocks; their public copies cost nothing.
  class Budget final : public sync::MemoryBudget {
   public:
    explicit Budget(Node& node) : node_(node) {}
    std::size_t held() const noexcept override;
    std::size_t allowed() const noexcept override { return node_.options_.room_bytes; }

   private:
    Node& node_;
  };
  // Another node asks: a thread of its own serves it.
  class RoomWaker final : public sync::RoomKeeper::Waker {
   public:
    explicit RoomWaker(Node& node) : node_(node) {}
    void wake() noexcept override;

   private:
    Node& node_;
  };
  struct Meeting {
    Event met;
    sync::Barrier::Payload* payload;
    Meeting* next;
  };
  NodeOptions completed(NodeOptions options);
  static sync::ControlLayout control_layout(std::uint32_t ranks, const NodeOptions& options);
  coherence::entry::Sizes entry_sizes() const;
  coherence::MadeProtocol make_protocol(const coherence::PrivateParts* private_parts);
  void serve(Task<> task);
  Task<> make_room();
  Task<> open(BlockId block, coherence::Touch touch);
  static bool is_store(const PendingAccess& pending);
  Task<> open_for_stores(const PendingAccess& pending);
  Task<bool> fault(BlockId block, coherence::Touch touch);
  Task<> access(PendingAccess pending);
  sync::RankActivity::Operation begin_operation();
  Task<> after_lock();
  Task<> hand_over(Task<> unlock);
  static Task<> expire(sync::Conditions& conditions, remote_lock::Grants::Expiry expiry,
                       std::uint64_t after_ns);
  void perform(PendingAccess& pending);
  void preempt(vm::BlockRun run) noexcept;
  std::byte* control(std::uint64_t offset) { return control_.data() + offset; }

  fabric::sim::SimFabric& fabric_;
  const vm::Space& space_;
  const NodeOptions options_;
  const sync::ControlLayout layout_;
  Interrupted interrupted_;
  SoftPages pages_;
  coherence::RaceLog races_;
  PreemptedVm vm_;
  ZeroArray<std::byte> private_;
  ZeroArray<std::byte> published_;
  ZeroArray<coherence::BlockWords> words_;  // followed by the marks of visitors
  ZeroArray<coherence::Entry> entries_;
  ZeroArray<std::uint64_t> sharers_;  // of the policy directory
  const coherence::entry::Sizes entry_sizes_;
  ZeroArray<std::byte> updates_;  // of the policy entry
  ZeroArray<std::byte> control_;
  remote_lock::Grants grants_;
  coherence::Signature signature_;
  coherence::MadeProtocol made_;
  coherence::Protocol* const protocol_;
  sync::Barrier barrier_;
  sync::LockTable locks_;
  sync::WaitRecords wait_records_;
  sync::ReaderWriterLocks rw_locks_;
  sync::Conditions conditions_;
  sync::ThreadBarriers thread_barriers_;
  std::vector<Task<>> alarms_;
  sync::Clock clock_;
  sync::FlagOrder flags_;
  sync::Openings openings_;
  bool has_assistant_ = false;
  task_stealing::SignatureOrder order_;
  sync::RankActivity activity_;
  Bell bell_;
  Released released_;
  sync::LockTable::Kept kept_;
  Budget budget_;
  RoomWaker room_waker_;
  std::unique_ptr<sync::RoomKeeper> room_keeper_;  // null: memory for all
  std::vector<Task<>> services_;
  sync::Background background_;
  Gate answering_;
  PendingAccess* pending_ = nullptr;
  std::uint32_t met_ = 0;
  Meeting* meetings_ = nullptr;
};

}  // namespace musubi::sim
