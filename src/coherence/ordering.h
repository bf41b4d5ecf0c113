// The services of a policy for programs that hand data over by plain flags, and for threads that wait for
// these (docs/decisions/order.md, docs/decisions/background.md): a flag must not be seen before its data.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/task.h"
#include "vm/vm.h"

namespace musubi::coherence {

// The access that a fault needs, and its address.
struct Touch {
  vm::Access wanted;
  std::uintptr_t address = 0;  // 0: not known
  std::uint32_t named = 1;     // so many blocks will be touched: this one and those after it
  bool named_all = false;      // the program has named all: no stream leads beyond them
};

// The findings of threads that come back to closed blocks while faults are held.
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

// One object per rank, a part of its Protocol. While order is kept (set_ordered(), publish_always()), bytes
// that come from other ranks stay closed to the program until an acquire has ended that began after their
// arrival. Bytes that come for blocks that are always open are held back.
class Ordering {
 public:
  // An acquire in order is everything that the caller does between acquire_begins() and acquire_ended().
  // acquire_ended() takes the number of acquire_begins(), and shows the bytes that the acquire covers.
  // Result: whether nothing is held back any more.
  virtual std::uint32_t acquire_begins() = 0;
  virtual Task<bool> acquire_ended(std::uint32_t number) = 0;
  // Whether bytes came into open pages after the last acquire in order began.
  virtual bool shows_unordered() const = 0;
  // Shows all that is held back, and whether anything is.
  virtual Task<> show_held_back() = 0;
  virtual bool holds_back() const = 0;

  // Protocol::fault(), which opens nothing out of order.
  virtual Task<FaultOutcome> fault(BlockId block, Touch touch) = 0;
  // Whether faults keep order from now on. Any thread. When end_of_unordered() has ended, two kinds of task
  // have ended too: those that have not seen it, and releases that began before.
  virtual void set_ordered(bool ordered) = 0;
  virtual Task<> end_of_unordered() = 0;
  // While set, the rank's only thread is in the runtime: open pages may change, as at a barrier. REQUIRES: an
  // acquire in order that began after they have changed ends before the thread goes on.
  virtual void set_quiescent(bool quiescent) = 0;

  // From the end of this task until allow_openings(), no closed block is opened: faults wait. One caller.
  virtual Task<> hold_openings() = 0;
  virtual Reread reread_while_held() const = 0;
  virtual void allow_openings() = 0;

  // While set, no other rank runs program code, and none begins to before this is said again with false, and
  // then end_of_unordered() and a release. Until then no rank can miss an unreleased write of this one: a
  // release that is not quiescent does nothing, no order is kept here, and Protocol::modify_at_once() changes
  // open blocks as plain stores do. REQUIRES: not holds_back(). Any thread.
  virtual void set_alone(bool alone) = 0;
  virtual bool is_alone() const = 0;

  // From now on other ranks see only the released writes of this rank, never newer bytes. Takes effect with
  // the next release. Any thread.
  virtual void publish_always() = 0;
  // After Protocol::release(): releases the writes that other threads of this rank have done since that
  // release looked at their blocks. All of it is as of one moment: no write goes out without the writes of
  // its thread before it.
  virtual Task<> release_as_of_now() = 0;
  // REQUIRES: the release of a quiescent barrier had ended (sync/rank_activity.h). Whether the rank still
  // stands there, if the policy has to know that, and all that it wrote in order has been released.
  virtual Task<bool> has_released_at_barrier() = 0;

 protected:
  ~Ordering() = default;
};

}  // namespace musubi::coherence
