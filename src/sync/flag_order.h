// Programs that hand data over by plain flags (docs/decisions/order.md).
//
// A thread writes data, then sets a flag by a plain store, and continues; another thread flushes until it
// sees the flag. No instruction of the writer shows that a release is needed. (The pipelines of LU in NAS are
// written so, and x86 processors keep the order.) The reader flushes, and faults when it fetches the flag.
// While flushes are in use in the job, therefore
//
// - a release is announced before it begins, and so is its end, after the data is visible;
// - bytes that came from another rank are shown to the program only after an acquire that began
//   after their arrival. It waits for the releases announced until then, so that the flag is not visible
//   without its data, and acquires the signatures of all other ranks. (The clock covers them, too, but only
//   by its time: every copy would have to be checked.)
// - all blocks are published, except those at rest: no rank takes bytes that their home has not released.
//
// A program with fences keeps order from the beginning. Any other program starts when a background poll
// closes pages that a thread immediately reads again (background.h), and stops after some barriers without
// such a poll.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/check.h"
#include "base/event.h"
#include "base/task.h"
#include "coherence/core/parameters.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"
#include "sync/clock.h"
#include "sync/lock_news.h"
#include "sync/lock_table.h"
#include "sync/signature_reader.h"

namespace musubi::sync {

// Wakes the answering thread of another rank. Result: false if the path there is full at the moment. Any
// thread, also inside faults.
class Bell {
 public:
  virtual bool ring(Rank peer) noexcept = 0;

 protected:
  ~Bell() = default;
};

// One object per rank; any thread.
class FlagOrder final : public ReleaseRequests {
 public:
  // Words of each rank in the control region.
  static constexpr std::size_t word_count = 6;
  // Index of the word that counts requests (ask_all()).
  static constexpr std::size_t requests_word = 3;

  // The words are at `offset` in the control region of each rank; this rank's, zero at start, are at `own`.
  // The signatures: see SignatureReader.
  FlagOrder(fabric::Fabric& fabric, coherence::Protocol& protocol, Clock& clock, std::byte* own,
            std::uint64_t offset, std::uint64_t signature_offset, std::size_t notices_max, Hooks hooks = {});
  // From now on other ranks answer requests. Before the first task; `bell` outlives the last one.
  void set_bell(Bell* bell) noexcept { bell_ = bell; }
  // From now on answers free the locks that the rank keeps. Before the first task; `locks` outlives the last
  // one.
  void set_locks(LockTable* locks) noexcept { locks_ = locks; }

  // Whether some rank has flushed recently, counted in barriers.
  bool in_use() const noexcept { return word(credit).load(std::memory_order_acquire) != 0; }
  // The program has flushes, or waits for plain words: in use from the beginning. Before its first
  // instruction.
  void expect() noexcept;

  // Keeps order in use for some more barriers: a thread is about to flush, or to operate on a word through
  // which threads may synchronise. When it ends, all ranks keep order; without a bell, only ranks that have
  // made an operation since. It does not wait long for a rank that does not answer. Cheap unless renewal is
  // due. REQUIRES: the caller is in no operation without siblings.
  bool is_due_to_renew() const noexcept {
    return assured() < low_credit || settled() == 0 || others_settled_in_.load() != settled();
  }
  Task<> renew();
  // Order has not been used for some barriers: ends it, unless another thread has renewed it in the meantime.
  Task<> end_if_unused();

  // Rank 0 alone runs program code from now until it enters the next barrier: no other rank runs any after
  // the barrier just passed, except guests (join_lone_rank()). No rank needs this one's releases, and there
  // is nothing to acquire. REQUIRES: no operation without siblings is in progress.
  Task<> begin_alone();
  // The same without waiting, if possible. Cheap.
  bool begin_alone_at_once() noexcept;
  // Called when a rank enters a barrier, before it waits for the background and ends the lone state. As the
  // rest, on any rank.
  void note_barrier() noexcept {
    in_serial_part_.store(false);
    guests_before_barrier_.store(word(guests).load());
  }
  // If true, the release that ends the lone state covers all earlier writes of the calling thread.
  bool is_alone() const noexcept {
    if (!ordering_.is_alone()) return false;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return ordering_.is_alone();
  }
  // When it ends, earlier operations have ended. A release must follow.
  Task<> end_alone();
  // The same if no thread of this rank runs program code. Cheap.
  void end_alone_at_rest() noexcept {
    if (ordering_.is_alone() && !hooks_.injected(InjectedBug::alone_in_regions)) ordering_.set_alone(false);
  }
  // On another rank, before program code runs there nevertheless: in a handler, or in a thread created since.
  // Rank 0 releases everything that it wrote alone, and this rank acquires it.
  Task<> join_lone_rank();

  // `siblings`: other threads of this rank may run program code before the task ends. Each of these tasks may
  // be called while order is not kept, and may start to keep it midway: the caller states `siblings` for that
  // case, too.
  //
  // Releases everything, and raises the channel's clock.
  Task<> release(Channel channel, bool siblings);
  // Releases, then acquires all releases of which this rank may already have bytes.
  Task<> flush(bool siblings);
  // `unlock` is a task that releases everything, in any order, and then the lock; hand_over() releases the
  // rest afterwards.
  Task<> hand_over(Task<> unlock, bool siblings);
  // Protocol::modify(), which publishes a block with the flags that it may contain; then releases the rest.
  Task<> modify(BlockId block, coherence::Modification& modification, bool siblings);
  // Acquires all releases of which this rank may already have bytes, and shows the bytes that were held back.
  // Also after taking a lock, if Ordering::holds_back().
  Task<> acquire(bool siblings);
  // As Protocol::fault(); in order while in use.
  Task<bool> fault(BlockId block, coherence::Touch touch, bool siblings);
  // Around each barrier of the rank, while in use.
  Task<> before_barrier(bool siblings);
  Task<> after_barrier(bool siblings);

  // For the background, which answers while it waits and does not change open pages.
  //
  // The number of this rank's entry into use, once all tasks that began before it have ended; 0: not in use.
  std::uint64_t settled() const noexcept { return settled_.load(); }
  // Starts to keep order if the job wants it. REQUIRES: no operation without siblings is in progress, except
  // the caller's, at its beginning.
  Task<> settle();
  // Sends requests to other ranks without waiting, unless requests to them are pending.
  Task<> nudge();
  // Keeps the job in order for some barriers, more each time.
  Task<> keep_in_use();
  // Whether all ranks keep order until this rank's next barrier, as ask_all() or renew() has established.
  // Each rank starts when its credit arrives.
  bool all_keep_order() const noexcept {
    if (hooks_.injected(InjectedBug::order_believed_of_all)) return settled() != 0;
    return settled() != 0 && others_settled_in_.load() == settled() && assured() != 0;
  }
  // Gives all other ranks this rank's credit: the rank that gave it may not have reached them yet.
  Task<> pass_credit_on();
  Task<> acquire_in_order();
  Task<> ask_all();
  // ask_all() in two parts: the caller may answer between two polls. `look`: the number of polls so far.
  Task<> request_releases();
  Task<bool> have_answered(unsigned look);
  // Asks the background of this rank for a release. Result: an argument for has_released(), whose `look` is
  // the number of polls so far. Without a bell no thread answers, and it counts as released.
  Task<std::uint64_t> request_own_release();
  bool has_released(std::uint64_t request, unsigned look) const noexcept;
  // The newest unanswered request, or 0.
  std::uint64_t unanswered() const noexcept;
  Task<> answer(bool siblings);
  // Answers without a release: all writes made here before unanswered() returned `request`, and before
  // kept_locks() returned `kept`, have been released already.
  Task<> note_answer(std::uint64_t request, LockTable::Kept kept);
  LockTable::Kept kept_locks() noexcept { return locks_ == nullptr ? LockTable::Kept{} : locks_->kept(); }
  // Returns the locks without note_answer().
  void put_back(LockTable::Kept kept) noexcept {
    if (locks_ != nullptr) locks_->put_back(kept);
  }
  Task<> request_release(Rank peer) override;
  // For locks that kept_locks() returned before the release of a barrier; call it after that release. Does
  // not wait.
  void free(LockTable::Kept kept) noexcept {
    if (locks_ != nullptr && !locks_->free(kept)) wake_background();
  }

 private:
  static constexpr std::uint64_t barriers_without_flush = 64, low_credit = barriers_without_flush / 2;
  // A rank that was stopped in a release, or has ended there, must not stop other ranks for good.
  static constexpr unsigned looks_max = 4000;

  enum Word : std::size_t {
    credit,  // barriers until flushes count as out of use
    begun,   // releases
    finished,
    asked = requests_word,  // for releases, by other ranks
    answered,               // the newest answered request
    guests,                 // those that have come to this rank while it may have been alone
  };

  std::atomic_ref<std::uint64_t> word(Word which) const noexcept {
    return std::atomic_ref<std::uint64_t>(own_[which]);
  }
  std::uint64_t offset_of(Word which) const noexcept { return offset_ + which * sizeof(std::uint64_t); }
  void announce() noexcept {
    if (!hooks_.injected(InjectedBug::release_not_announced)) word(begun).fetch_add(1);
  }
  void note_end() noexcept {
    if (hooks_.injected(InjectedBug::release_not_announced)) return;
    const std::uint64_t before = word(finished).fetch_add(1);
    MUSUBI_CHECK(before < word(begun).load(), "the end of a release that was not announced");
  }
  Task<> release_all(bool siblings);
  Task<> release_announced(bool siblings);
  void be_alone_if_possible() noexcept;
  bool must_settle() const noexcept { return in_use() && settled() == 0 && !is_alone(); }
  // The number of barriers for which this rank knows that all ranks have credit. Its own credit proves
  // nothing about theirs: the rank that gave it may not have reached them yet.
  std::uint64_t assured() const noexcept {
    const std::uint64_t passed = barriers_.load(std::memory_order_relaxed);
    const std::uint64_t until = assured_until_.load(std::memory_order_relaxed);
    return until > passed ? until - passed : 0;
  }
  // Makes the background of this rank answer once more. Any thread.
  void wake_background() noexcept {
    MUSUBI_CHECK(bell_ != nullptr);
    word(asked).fetch_add(1);
    (void)bell_->ring(fabric_.self());
  }
  Task<std::uint64_t> count_request(Rank peer);
  Task<> others_settle();
  Task<> give_credit(std::uint64_t barriers);
  Task<std::uint64_t> request(Rank peer);
  Task<bool> has_answered(Rank peer, std::uint64_t request);
  Task<> await_answer(Rank peer, std::uint64_t request);
  Task<std::uint64_t> await_releases(Rank peer);
  Task<> acquire_from(Rank peer);
  Task<> acquire_shown_changes();

  fabric::Fabric& fabric_;
  coherence::Protocol& protocol_;
  coherence::Ordering& ordering_;
  Clock& clock_;
  std::uint64_t* own_;
  std::uint64_t offset_;
  SignatureReader signatures_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> acquired_;  // sequence words of the other ranks' signatures
  [[no_unique_address]] const Hooks hooks_;
  Bell* bell_ = nullptr;  // null: no thread answers
  LockTable* locks_ = nullptr;
  Gate change_gate_;  // around each start and end of order
  std::atomic<std::uint64_t> settled_{0};
  std::atomic<std::uint64_t> others_settled_in_{0};  // this rank's entry in which all other ranks keep order
  std::atomic<std::uint64_t> barriers_{0};           // passed while in use
  std::atomic<std::uint64_t> assured_until_{0};
  std::atomic<std::uint64_t> guests_before_barrier_{0};
  std::atomic<bool> in_serial_part_{false};
  std::uint64_t entries_ = 0;
  std::uint64_t credit_given_ = 0;             // last credit given by the background
  std::unique_ptr<std::uint64_t[]> requests_;  // of the background, by rank
};

}  // namespace musubi::sync
