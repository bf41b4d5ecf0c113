// What a coherence protocol offers to synchronisation and to the runtime, whatever its policy.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/store_bound.h"
#include "base/task.h"
#include "coherence/core/notice.h"
#include "coherence/core/race_log.h"
#include "vm/vm.h"

namespace musubi::coherence {

// Changes the newest bytes of one block while nobody else can (see Protocol::modify).
class Modification {
 public:
  // `block` is the live block of this rank, from its first byte. Called once, inside the block's critical
  // section.
  virtual void apply(std::byte* block) noexcept = 0;

  // Where in the block: it changes nothing else. Unless somebody says so: anywhere (a sum of the two fits).
  std::size_t offset = 0;
  std::size_t bytes = SIZE_MAX / 2;

  // Told by the protocol: whether plain writes of this rank to the block may go out with it.
  bool takes_writes_along = true;

 protected:
  ~Modification() = default;
};

// A rank's own signature, copied out for an exchange.
class SignatureSink {
 public:
  // The view is valid during the call only.
  virtual void take(SignatureView signature) noexcept = 0;

 protected:
  ~SignatureSink() = default;
};

// Who else has acquired what a task acquires.
enum class Audience : std::uint8_t {
  unknown,
  unknown_in_order,  // the same; what came for blocks that are always open is shown later
  all_ranks_soon,  // the end of a barrier: every rank, once it has left; threads elsewhere may be ahead of it
  everyone,        // the end of a barrier: every thread of the job, before it does anything else
};

// What a fault wants, and where.
struct Touch {
  vm::Access wanted;
  std::uintptr_t address = 0;  // 0: not known
};

// What threads that come back to closed blocks find there while faults are held.
enum class Reread : std::uint8_t {
  nothing,  // none has come, or its word is as it was
  looking,  // not known yet
  change,   // a word that one of them wants to read again is another now: a flag, perhaps
};

// How a fault ended.
enum class FaultOutcome : std::uint8_t {
  open,
  refused,       // the rank may not touch the block
  not_in_order,  // bytes came, and no acquire in order has covered them yet
  held,          // a release as of one moment is under way, or hold_openings()
};

// One object per rank. Tasks may run on any thread of the rank; none of them touches the user view.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Makes `block` readable or writable for the program. Result: false when the rank may not touch it.
  virtual Task<bool> fault(BlockId block, vm::Access wanted) = 0;

  // Holds for all stores of this rank's program from now on until the next call; {} (bytes of any width)
  // holds for all code. A bound may become wider only when everything that the rank wrote before has been
  // released by a quiescent release, and no thread of the rank has run program code since. Any thread.
  virtual void set_store_bound(StoreBound /*bound*/) noexcept {}
  // Words that this rank found changed by two ranks; null: not asked for, or not noted by this policy.
  virtual const RaceLog* races() const noexcept { return nullptr; }

  // Makes everything that this rank wrote before visible to whoever acquires the rank's signature afterwards.
  // `quiescent`: no thread of the rank runs program code until the matching acquire has ended (a barrier).
  virtual Task<> release(bool quiescent) = 0;
  // The same without a task, where there is next to nothing to do. Result: false when release() is needed;
  // then nothing has been released.
  virtual bool release_at_once(bool /*quiescent*/) { return false; }

  // Makes everything visible here that the signature covers. Unless everyone has it, it is merged into the
  // rank's own: what this rank releases later covers it too.
  virtual Task<> acquire(SignatureView signature, Audience audience) = 0;
  // The same without a task, as release_at_once().
  virtual bool acquire_at_once(SignatureView /*signature*/, Audience /*audience*/) { return false; }

  // Copies the rank's own signature out. Result: a mark for forget().
  virtual std::uint64_t signature(SignatureSink& sink) = 0;
  // Everybody has acquired what signature() gave out at `mark`: drops it from the own signature.
  virtual void forget(std::uint64_t mark) = 0;

  // Release and acquire without a partner, by the clock (coherence.md section 7): after release(), clock()
  // covers all that this rank wrote or acquired; acquire_clock() makes everything up to `time` visible here.
  virtual LogicalTime clock() const = 0;
  virtual Task<> acquire_clock(LogicalTime time) = 0;

  // Runs `modification` on the newest version of `block`, exclusively in the job, and publishes the result as
  // a release of that block alone.
  virtual Task<> modify(BlockId block, Modification& modification) = 0;

  // Pins the blocks [first, first+count): always readable and writable here, never closed (stacks of running
  // threads). REQUIRES: this rank is their initial home, nobody has touched them.
  virtual void pin(BlockId first, std::uint64_t count) = 0;
  // Of a pinned range, only blocks that overlap [low, high) of the user view are compared at releases.
  // `range` is the number of the thread slot whose stack it is. Any thread; cheap.
  virtual void set_live_range(std::size_t range, std::uintptr_t low, std::uintptr_t high) = 0;

  // For programs that hand data over by plain flags: what comes from other ranks stays closed to the program
  // until an acquire that began after it had come has ended; what comes for blocks that are always open is
  // held back. An acquire in order is whatever the caller does between order_begins() and order_ended() with
  // its number, which shows what it covers. Result: whether nothing is held back any more.
  virtual std::uint32_t order_begins() { return 0; }
  virtual Task<bool> order_ended(std::uint32_t /*number*/) { co_return true; }
  // fault(), which opens nothing before that while set_ordered() is on.
  virtual Task<FaultOutcome> fault_in_order(BlockId block, Touch touch) {
    const bool opened = co_await fault(block, touch.wanted);
    co_return opened ? FaultOutcome::open : FaultOutcome::refused;
  }
  // After release(): releases what other threads of this rank have written since it looked at their blocks,
  // all as of one moment: nothing without what its thread wrote before it.
  virtual Task<> release_as_of_now() { return release(false); }
  // While set, the rank's only thread is in the runtime: open pages may change, as at a barrier. REQUIRES: an
  // acquire in order that began after they have changed ends before the thread goes on.
  virtual void set_program_stands(bool /*stands*/) {}
  // Whether bytes came into open pages after the last acquire in order began.
  virtual bool shows_unordered() const { return false; }

  // Whether faults keep order from now on. Any thread. After end_of_unordered() no task is under way that has
  // not seen it, and no release that began before.
  virtual void set_ordered(bool /*ordered*/) {}
  virtual Task<> end_of_unordered() { co_return; }
  // From the end of this task until allow_openings(), no closed block is opened: faults wait. One caller.
  virtual Task<> hold_openings() { co_return; }
  virtual Reread reread_while_held() const { return Reread::change; }
  virtual void allow_openings() {}
  // Shows all that is held back, and whether anything is.
  virtual Task<> show_held_back() { co_return; }
  virtual bool holds_back() const { return false; }
  // Whether the rank stands at a quiescent barrier, and all that it wrote has been released.
  virtual Task<bool> has_released_standing() { co_return false; }

  // From now on what others see of this rank's writes is what it has released, never newer bytes: for
  // programs that hand data over by plain flags. Takes effect with the next release. Any thread.
  virtual void publish_always() {}

  // The rank's present bytes of the blocks become their first version. Called by their initial home before
  // any other rank touches them; blocks full of zeros stay untouched.
  virtual void adopt(BlockId first, std::uint64_t count) = 0;
};

}  // namespace musubi::coherence
