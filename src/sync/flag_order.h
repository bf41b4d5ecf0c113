// Programs that hand data over by plain flags (docs/decisions/order.md).
//
// A thread writes data, then sets a flag by a plain store, and goes on; another thread flushes until it sees
// the flag. No instruction of the writer tells that anything is to be released. (The pipelines of LU in NAS
// are written so, and x86 processors keep the order.) The reader has its flush, and the fault by which it
// gets the flag. So while flushes are in use in the job
// - a release is announced before it begins, and its end after the data is out;
// - bytes that came from another rank are shown to the program only when an acquire has ended that began
//   after they had come. It waits for the releases announced until then, lest the flag be there and the data
//   not, and acquires the signatures of all other ranks. (The clock covers them, too, but by its time alone:
//   every copy would have to be looked at.)
// - all blocks are published, but for those at rest: nobody takes bytes that their home has not released.
// In a program with fences that is so from the beginning. In others the first background turn that closes
// what a thread reads again at once begins it (background.h), and some barriers without such a turn end it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

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

// Wakes the thread that answers at another rank. Result: false if the way there is full just now. Any thread,
// inside faults too.
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
  // Among them, the one that counts requests (ask_all()).
  static constexpr std::size_t requests_word = 3;

  // The words lie at `offset` in the control region of each rank, and the own ones, zero at start, at `own`.
  // The signatures: as SignatureReader.
  FlagOrder(fabric::Fabric& fabric, coherence::Protocol& protocol, Clock& clock, std::byte* own,
            std::uint64_t offset, std::uint64_t signature_offset, std::size_t notices_max, Hooks hooks = {});
  // From now on others answer when they are asked. Before the first task; `bell` outlives the last one.
  void set_bell(Bell* bell) noexcept { bell_ = bell; }
  // From now on answers free the locks that the rank keeps. As above.
  void set_locks(LockTable* locks) noexcept { locks_ = locks; }

  // Whether some rank has flushed lately, counted in barriers.
  bool in_use() const noexcept { return word(credit).load(std::memory_order_acquire) != 0; }
  // The program has flushes, or waits for plain words: in use from the beginning. Before its first
  // instruction.
  void expect() noexcept;

  // Keeps it in use for some more barriers: a thread is about to flush, or to operate on a word by which
  // threads may meet. When this ends all ranks keep order; without a bell, only ranks that have come to
  // operate since. A rank that does not answer for long is not waited for. Cheap while there is no need.
  // REQUIRES: the caller is in no operation without siblings.
  bool is_due_to_renew() const noexcept {
    return assured() < low_credit || settled() == 0 || others_settled_in_.load() != settled();
  }
  Task<> renew();
  // Nobody has used it for some barriers: order ends, unless somebody has renewed it meanwhile.
  Task<> end_if_unused();

  // Rank 0 alone runs program code from now on, until it enters the next barrier: the others do not after the
  // barrier that has just been passed, but for guests (join_lone_rank()). There is no one to tell, and
  // nothing to hear. REQUIRES: no operation without siblings under way.
  Task<> begin_alone();
  // The same without waiting, if it can be. Cheap.
  bool begin_alone_at_once() noexcept;
  // Rank 0 enters a barrier. Then it waits for the background, and ends this. Any rank, as the rest.
  void note_barrier() noexcept {
    in_serial_part_.store(false);
    guests_before_barrier_.store(word(guests).load());
  }
  // What the calling thread has written until it finds this goes out with the release that ends it.
  bool is_alone() const noexcept {
    if (!ordering_.is_alone()) return false;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return ordering_.is_alone();
  }
  // Operations that began before are over when it ends. A release must follow.
  Task<> end_alone();
  // The same where no thread of this rank runs program code. Cheap.
  void end_alone_at_rest() noexcept {
    if (ordering_.is_alone() && !hooks_.injected(InjectedBug::alone_in_regions)) ordering_.set_alone(false);
  }
  // At another rank, before program code runs there in spite of that: a handler, or a thread that was made
  // since. Rank 0 has released all that it wrote alone, and it is acquired here.
  Task<> join_lone_rank();

  // `siblings`: other threads of this rank may run program code before the task ends. Each of these tasks may
  // be called while order is not kept, and may begin to keep it half-way: the caller then says `siblings`.
  //
  // Releases everything, and raises the channel's clock.
  Task<> release(Channel channel, bool siblings);
  // Releases, then acquires all releases that bytes here already may be part of.
  Task<> flush(bool siblings);
  // A task that releases everything, in any order, and then lets others go on; then releases the rest.
  Task<> hand_over(Task<> unlock, bool siblings);
  // Protocol::modify(), which publishes a block with the flags that may lie there; then releases the rest.
  Task<> modify(BlockId block, coherence::Modification& modification, bool siblings);
  // Acquires all releases that bytes here already may be part of, and shows the bytes that were held back.
  // After taking a lock, too, where Ordering::holds_back().
  Task<> acquire(bool siblings);
  // As Protocol::fault(); in order while in use.
  Task<bool> fault(BlockId block, coherence::Touch touch, bool siblings);
  // Before and after each barrier of the rank, while in use.
  Task<> before_barrier(bool siblings);
  Task<> after_barrier(bool siblings);

  // For the background, which answers while it waits and changes no open pages.
  //
  // The number of this rank's entry into use, once all tasks that began before have ended; 0: not in use.
  std::uint64_t settled() const noexcept { return settled_.load(); }
  // Begins to keep order if the job wants it. REQUIRES: no operation without siblings under way but the
  // caller's, at its begin.
  Task<> settle();
  // Asks the others without waiting, unless they have been asked already.
  Task<> nudge();
  // Keeps the job in order for some barriers, more each time.
  Task<> keep_in_use();
  // Whether all ranks keep order until the next barrier of this one, as it has made sure: by ask_all(), or
  // renew(). A rank begins when its credit has come, one after the other.
  bool all_keep_order() const noexcept {
    if (hooks_.injected(InjectedBug::order_believed_of_all)) return settled() != 0;
    return settled() != 0 && others_settled_in_.load() == settled() && assured() != 0;
  }
  // Gives all others the credit that this rank has: who gave it may not have come to them yet.
  Task<> pass_credit_on();
  Task<> acquire_beside();
  Task<> ask_all();
  // ask_all() in two parts: between two looks the caller may answer. `look`: how often it has looked.
  Task<> request_releases();
  Task<bool> have_answered(unsigned look);
  // Asks the background of this rank for a release. Result: for has_released(), `look`: how often it was
  // asked before. Without a bell nobody answers, and it counts as released.
  Task<std::uint64_t> request_own_release();
  bool has_released(std::uint64_t request, unsigned look) const noexcept;
  // The newest request that has no answer, or 0.
  std::uint64_t unanswered() const noexcept;
  Task<> answer(bool siblings);
  // The same where all that was written here before unanswered() returned `request`, and before kept_locks()
  // returned `kept`, has been released.
  Task<> note_answer(std::uint64_t request, LockTable::Kept kept);
  LockTable::Kept kept_locks() noexcept { return locks_ == nullptr ? LockTable::Kept{} : locks_->kept(); }
  // Instead of that.
  void put_back(LockTable::Kept kept) noexcept {
    if (locks_ != nullptr) locks_->put_back(kept);
  }
  Task<> request_release(Rank peer) override;
  // For the locks that kept_locks() returned before a release at a barrier, behind it. Waits for nothing.
  void free(LockTable::Kept kept) noexcept {
    if (locks_ != nullptr && !locks_->free(kept)) call_background();
  }

 private:
  static constexpr std::uint64_t barriers_without_flush = 64, low_credit = barriers_without_flush / 2;

  enum Word : std::size_t {
    credit,  // barriers until flushes count as out of use
    begun,   // releases
    finished,
    asked = requests_word,  // for releases, by others
    answered,               // as many
    guests,                 // that have come to this rank while it may have been alone
  };

  std::atomic_ref<std::uint64_t> word(Word which) const noexcept {
    return std::atomic_ref<std::uint64_t>(own_[which]);
  }
  std::uint64_t offset_of(Word which) const noexcept { return offset_ + which * sizeof(std::uint64_t); }
  void announce() noexcept {
    if (!hooks_.injected(InjectedBug::release_not_announced)) word(begun).fetch_add(1);
  }
  void note_end() noexcept {
    if (!hooks_.injected(InjectedBug::release_not_announced)) word(finished).fetch_add(1);
  }
  Task<> release_all(bool siblings);
  Task<> release_announced(bool siblings);
  void be_alone_if_possible() noexcept;
  bool must_settle() const noexcept { return in_use() && settled() == 0 && !is_alone(); }
  // For how many barriers this rank knows that all ranks have credit. The own credit says nothing of theirs:
  // whoever gives it may not have reached them yet.
  std::uint64_t assured() const noexcept {
    const std::uint64_t passed = barriers_.load(std::memory_order_relaxed);
    const std::uint64_t until = assured_until_.load(std::memory_order_relaxed);
    return until > passed ? until - passed : 0;
  }
  // Lets the background of this rank answer once more. Any thread.
  void call_background() noexcept {
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
  Task<> acquire_in_order();
  Task<> acquire_what_shows();

  fabric::Fabric& fabric_;
  coherence::Protocol& protocol_;
  coherence::Ordering& ordering_;
  Clock& clock_;
  std::uint64_t* own_;
  std::uint64_t offset_;
  SignatureReader signatures_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> acquired_;  // sequence words of the others' signatures
  [[no_unique_address]] const Hooks hooks_;
  Bell* bell_ = nullptr;  // null: nobody answers
  LockTable* locks_ = nullptr;
  Gate change_gate_;  // around each beginning and each end of order
  std::atomic<std::uint64_t> settled_{0};
  std::atomic<std::uint64_t> others_settled_in_{0};  // the entry of this rank in which all others keep order
  std::atomic<std::uint64_t> barriers_{0};           // passed while in use
  std::atomic<std::uint64_t> assured_until_{0};
  std::atomic<std::uint64_t> guests_before_barrier_{0};
  std::atomic<bool> in_serial_part_{false};
  std::uint64_t entries_ = 0;
  std::uint64_t credit_given_ = 0;             // by the background, last
  std::unique_ptr<std::uint64_t[]> requests_;  // of the background, by rank
};

}  // namespace musubi::sync
