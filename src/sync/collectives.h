// Gathers small values: every rank gets the values of all ranks, or of one. Takes ceil(log2 P) rounds of
// messages (the all-to-all broadcast of Bruck et al. 1997), each with the values that its sender has
// gathered. Orders nothing in shared memory.
//
// Mismatching operations are detected. A rank sends its first message before it waits. The messages of the
// first round form a ring of all ranks; if the operations differ, at least one rank receives a message of
// another operation and detects it, even in a barrier.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/event.h"
#include "base/ids.h"
#include "base/task.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"

namespace musubi::sync {

// The parameters of one operation, which must be equal on all ranks. The caller defines their meaning, except
// for `bytes`, the size of each rank's value, and `giver`.
struct CollectiveTerms {
  static constexpr std::uint32_t all_give = ~std::uint32_t{0};

  std::uint32_t call = 0;  // which operation
  std::uint32_t detail = 0;
  std::uint32_t root = 0;
  std::uint32_t giver = all_give;  // the only rank whose value counts; all_give: every rank's does
  std::uint64_t bytes = 0;         // at most Collectives::bytes_max()
  std::uint64_t part = 0;

  friend bool operator==(const CollectiveTerms&, const CollectiveTerms&) = default;
};

class Collectives final : public fabric::Listener {
 public:
  class MismatchListener {
   public:
    // This rank is in `own` and `other` is in `theirs`, as the same operation of the job. Called by any
    // thread that polls, perhaps more than once. Must not block.
    virtual void on_mismatch(const CollectiveTerms& own, Rank other,
                             const CollectiveTerms& theirs) noexcept = 0;

   protected:
    ~MismatchListener() = default;
  };

  explicit Collectives(fabric::Fabric& fabric, Hooks hooks = {});
  // Before the first operation; the listener outlives the last.
  void set_mismatch_listener(MismatchListener* listener) { mismatch_listener_ = listener; }

  // Limit of a value in one operation. Less in large jobs.
  std::size_t bytes_max() const { return bytes_max_; }

  // One operation at a time per rank; all ranks, in the same order. Result: false if they do not match; the
  // listener has been told, and no operation may follow.
  Task<bool> gather(const CollectiveTerms& terms, std::span<const std::byte> mine);
  // After gather(), until the next operation: the value of `rank`, which must have given one.
  std::span<const std::byte> value_of(Rank rank) const;

  // Around a barrier of another kind that is one of the sequence of operations.
  void begin_barrier(const CollectiveTerms& terms) noexcept;
  void end_barrier() noexcept {
    MUSUBI_CHECK(rounds_ == 0 || (state_.load(std::memory_order_relaxed) & in_barrier) != 0);
    state_.store(state_.load(std::memory_order_relaxed) & ~in_barrier, std::memory_order_relaxed);
  }

  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

 private:
  struct Header {
    std::uint64_t position;  // of the operation, among all
    std::uint32_t round;
    std::uint32_t offset;  // of these bytes within the round's
    std::uint32_t bytes;   // of the round
    std::uint32_t unused = 0;
    CollectiveTerms terms;
  };
  static constexpr std::size_t payload_max = fabric::message_bytes_max - sizeof(Header);
  struct Message {
    Header header;
    std::byte payload[payload_max];
  };
  static_assert(sizeof(Message) == fabric::message_bytes_max);
  // Two operations can be in progress at once, as with barriers: a rank cannot be two ahead without a message
  // of this one.
  struct Inbox {
    CollectiveTerms terms;
    std::vector<std::byte> bytes;
    std::uint32_t arrived_bytes = 0;
    std::uint64_t arrived_at = 0;  // position, from the first message on
    Event complete;
  };
  static constexpr std::uint64_t in_barrier = 1;  // low bit of state_; the rest is the position

  std::uint32_t slot_of(std::uint32_t rank) const {
    MUSUBI_CHECK(rank < ranks_);
    return (self_ + ranks_ - rank) % ranks_;
  }
  std::uint32_t blocks_in(unsigned round) const;
  std::span<std::byte> outgoing(const CollectiveTerms& terms, unsigned round, std::uint32_t sender);
  Inbox& inbox(std::uint64_t position, unsigned round) {
    MUSUBI_CHECK(round < rounds_);
    if (hooks_.injected(InjectedBug::collective_inboxes_mixed)) position = 0;
    return inboxes_[(position & 1) * rounds_ + round];
  }
  Task<> send(std::uint64_t position, const CollectiveTerms& terms, unsigned round);
  bool is_damaged(Rank from, const Header& header, std::size_t bytes) noexcept;
  void tell(const CollectiveTerms& own, Rank other, const CollectiveTerms& theirs) noexcept;

  fabric::Fabric& fabric_;
  const std::uint32_t self_;
  const std::uint32_t ranks_;
  const unsigned rounds_;
  const std::size_t bytes_max_;
  [[no_unique_address]] const Hooks hooks_;
  std::vector<Inbox> inboxes_;     // [parity of the position][round]
  std::vector<std::byte> values_;  // by slot: the distance of the rank before this one
  std::size_t value_bytes_ = 0;    // of the last operation
  CollectiveTerms barrier_;        // of the barrier in progress
  std::atomic<std::uint64_t> state_{0};
  std::atomic<std::uint64_t> newest_{0};  // position of the newest message
  std::atomic<std::uint32_t> newest_from_{0};
  MismatchListener* mismatch_listener_ = nullptr;
};

}  // namespace musubi::sync
