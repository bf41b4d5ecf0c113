// The interface of a coherence protocol to synchronisation and to the runtime, for all policies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomic_operation.h"
#include "base/check.h"
#include "base/store_bound.h"
#include "base/task.h"
#include "coherence/core/notice.h"
#include "coherence/ordering.h"
#include "coherence/room.h"
#include "coherence/scope.h"
#include "vm/vm.h"

namespace musubi::coherence {

// Changes the newest bytes of one block while no other thread or rank can (see Protocol::modify).
class Modification {
 public:
  // `block` is the live block of this rank, from its first byte. Called once, inside the block's critical
  // section.
  virtual void apply(std::byte* block) noexcept = 0;

  // The operation of apply(), if it is an atomic one: then another rank may carry it out where the block is,
  // and found() is called here instead, with the value before. Null: any other change.
  const AtomicOperation* operation = nullptr;
  virtual void found(AtomicValue /*old*/) noexcept { MUSUBI_CHECK(operation == nullptr); }
  // For the simulator: the witness that is told when it takes effect elsewhere (Hooks::took_effect). 0: none.
  std::uint64_t witness = 0;

  // Threads may see it at any time: writes that precede it need not be here yet.
  bool orders_nothing = false;

  // The place in the block: nothing else is changed. By default anywhere (a sum of the two fits).
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

// The other threads and ranks that have acquired the signature that a task acquires.
enum class Audience : std::uint8_t {
  unknown,
  unknown_in_order,  // the same; updates of blocks that are always open are shown later
  all_ranks_soon,  // the end of a barrier: every rank, once it has left; threads elsewhere may be ahead of it
  everyone,        // the end of a barrier: every thread of the job, before it does anything else
};

// One object per rank, and policy of its segments (policies.h). Tasks may run on any thread of the rank; no
// task touches the user view.
//
// Locks and barriers carry a signature from rank to rank. It names blocks of all policies, and each policy
// knows its own. A policy with more to hand over fetches it from the giver when it acquires.
class Protocol {
 public:
  virtual ~Protocol() = default;

  // Makes `block` readable or writable for the program. Result: false when the rank may not touch it.
  virtual Task<bool> fault(BlockId block, vm::Access wanted) = 0;

  // The program is going to store to every byte of the blocks of `run`, all of one segment, before it, or
  // another rank that synchronises with it, reads any. A policy may make some of them writable without their
  // present bytes, which are lost; the caller faults for all of them afterwards. By default it does nothing.
  virtual Task<> overwrite(vm::BlockRun /*run*/) { co_return; }
  // The program is going to store to the block, by checked code that reads nothing of it (Vm::open_stores).
  // Result: whether it is open for that, or for all writes. If not, the caller faults. By default it does
  // nothing.
  virtual Task<bool> open_for_stores(BlockId /*block*/) { co_return false; }
  // A hint: the program will not store to the blocks of `run` before it synchronises next. A policy may send
  // their changes now. By default it does nothing.
  virtual Task<> written(vm::BlockRun /*run*/) { co_return; }

  // Another rank becomes the home of blocks that have fixed homes, in two steps with a barrier before,
  // between and after; no thread of the job touches the blocks in that time. First the new home takes their
  // bytes, then every rank is told. By default they do nothing: homes move by themselves, or there are none.
  virtual Task<> take_home(vm::BlockRun /*run*/) { co_return; }
  virtual Task<> set_home(vm::BlockRun /*run*/, Rank /*home*/) { co_return; }

  // Holds for all stores of this rank's program from now on until the next call; {} (bytes of any width)
  // holds for all code. A bound may become wider only on two conditions: a quiescent release has released
  // everything that the rank wrote before, and no thread of the rank has run program code since. Any thread.
  virtual void set_store_bound(const StoreBound& /*bound*/) noexcept {}

  // Makes the writes of this rank before the call in `scope` visible to every rank that acquires this rank's
  // signature later. `quiescent`: no thread of the rank runs program code until the matching acquire has
  // ended (a barrier).
  virtual Task<> release(Scope scope, bool quiescent) = 0;
  // The same for everything, without a task, where there is next to nothing to do. Result: false when
  // release() is needed; blocks released until then were only released early.
  virtual bool release_at_once(bool /*quiescent*/) { return false; }

  // Makes the writes that the signature covers in `scope` visible here. Unless everyone has it, it is merged
  // into the rank's own: later releases of this rank cover it too.
  virtual Task<> acquire(SignatureView signature, Audience audience, Scope scope) = 0;
  // The same for everything, without a task, as release_at_once().
  virtual bool acquire_at_once(SignatureView /*signature*/, Audience /*audience*/) { return false; }

  // Whether a policy here binds memory to locks. It is then told by retake() of locks that this rank takes
  // again, after no other rank has had them: no acquire() comes with those.
  virtual bool binds_to_locks() const noexcept { return false; }
  virtual Task<> retake(LockId /*lock*/) { co_return; }

  // Copies the rank's own signature out. Result: a mark for forget().
  virtual std::uint64_t signature(SignatureSink& sink) = 0;
  // Every rank has acquired the signature that signature() gave out at `mark`: drops it from the own
  // signature.
  virtual void forget(std::uint64_t mark) = 0;

  // Release and acquire without a partner, by the clock (coherence.md section 7): after release(), clock()
  // covers all that this rank wrote or acquired; acquire_clock() makes everything up to `time` visible here.
  virtual LogicalTime clock() const = 0;
  virtual Task<> acquire_clock(LogicalTime time) = 0;

  // Runs `modification` on the newest version of `block`, exclusively in the job, and publishes the result as
  // a release of that block alone.
  virtual Task<> modify(BlockId block, Modification& modification) = 0;
  // The same without a task, where one instruction on memory that all ranks share does it, and in place while
  // this rank is alone (Ordering::set_alone()). Result: false when modify() is needed; nothing has changed
  // then.
  virtual bool modify_at_once(BlockId /*block*/, Modification& /*modification*/) { return false; }

  // Pins the blocks [first, first+count): always readable and writable here, never closed (stacks of running
  // threads). REQUIRES: this rank is their initial home, no rank has touched them.
  virtual void pin(BlockId first, std::uint64_t count) = 0;
  // Of a pinned range, only blocks that overlap [low, high) of the user view are compared at releases.
  // `range`, below stacks_max, is the number of the thread slot whose stack it is. Any thread; cheap.
  virtual void note_stack(std::size_t range, std::uintptr_t low, std::uintptr_t high) = 0;

  // For programs that hand data over by plain flags.
  virtual Ordering& ordering() = 0;

  // For a rank whose memory gets short; null: this policy keeps its blocks.
  virtual Room* room() noexcept { return nullptr; }

  // The rank's present bytes of the blocks become their first version. Called by their initial home before
  // any other rank touches them; blocks full of zeros stay untouched.
  virtual void adopt(BlockId first, std::uint64_t count) = 0;
};

}  // namespace musubi::coherence
