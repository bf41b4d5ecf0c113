// Barrier of all ranks with a payload from rank 0: signatures travel in ceil(log2 P) rounds (dissemination
// barrier, Hensgen, Finkel and Manber 1988), so that at the end every rank has acquired the writes of all
// ranks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "base/prefetch.h"
#include "base/task.h"
#include "coherence/core/notice.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"
#include "trace/counters.h"

namespace musubi::sync {

// A peer with direct access to this rank's memory (Capabilities::local_pointer) writes here for one round of
// the barrier: one cache line, followed by the notices if there are any. One line crosses between the cores
// for each message, and a rank that polls it disturbs only the peer that fills it.

// The data of one round.
struct Round {
  using Payload = std::array<std::uint64_t, 6>;

  coherence::SignatureView signature;
  const Payload* payload;  // null: unknown to the sender
  bool complete;           // all threads wait for the barrier on all ranks that the sender has heard from
  bool others_quiescent;   // all of those ranks but rank 0 are quiescent
};

// A view of a slot, which may be another rank's. Zeroed memory is a slot that was never filled. One peer
// fills it, for epochs that differ by two; the owner has left epoch n before the peer fills n+2.
//
// The mark is written last, by an exchange: a rank that sees it sees everything else of its epoch (release,
// acquire). An owner that stops polling asks for a message: it exchanges the old mark for a question. Either
// the peer finds the question, or the owner finds the mark.
class BarrierSlot {
 public:
  static constexpr std::size_t bytes(std::size_t notices_max) {
    return sizeof(Line) + (notices_max * sizeof(coherence::Notice) + 63) / 64 * 64;
  }
  explicit BarrierSlot(std::byte* place) : line_(*reinterpret_cast<Line*>(place)) {}

  // Peer: it is about to fill the slot.
  void prefetch() const { prefetch_for_writing(&line_); }
  // Peer. Result: whether the owner has asked for a message.
  bool fill(std::uint64_t epoch, const Round& round) {
    MUSUBI_CHECK(epoch != 0 && round.signature.notices.size() < others_quiescent_bit);
    const coherence::SignatureView& signature = round.signature;
    MUSUBI_CHECK(signature.notices.size() < others_quiescent_bit);
    line_.minimum = signature.minimum;
    if (round.payload != nullptr) line_.payload = *round.payload;
    if (!signature.notices.empty()) {
      std::memcpy(notices(), signature.notices.data(), signature.notices.size_bytes());
    }
    const std::uint64_t content = signature.notices.size() | (round.payload != nullptr ? payload_bit : 0) |
                                  (round.complete ? complete_bit : 0) |
                                  (round.others_quiescent ? others_quiescent_bit : 0);
    const std::uint64_t before = mark().exchange(epoch << content_bits | content);
    MUSUBI_CHECK(before >> content_bits < epoch || before == question(epoch), "a slot is filled twice");
    return before == question(epoch);
  }

  // Owner.
  std::atomic_ref<std::uint64_t> mark() const { return std::atomic_ref<std::uint64_t>(line_.mark); }
  static bool is_filled(std::uint64_t seen_mark, std::uint64_t epoch) {
    MUSUBI_CHECK(epoch != 0);
    return seen_mark >> content_bits == epoch && seen_mark != question(epoch);
  }
  // Result: whether a message will come; otherwise the slot has been filled since `seen_mark` was read.
  bool ask(std::uint64_t seen_mark, std::uint64_t epoch) {
    MUSUBI_CHECK(!is_filled(seen_mark, epoch));
    return mark().compare_exchange_strong(seen_mark, question(epoch));
  }
  // REQUIRES: the slot is filled. The result is valid until the owner enters the next epoch but one.
  Round read() const {
    const std::uint64_t content = mark().load(std::memory_order_relaxed) & content_mask;
    return {{line_.minimum, {notices(), static_cast<std::size_t>(content & (others_quiescent_bit - 1))}},
            (content & payload_bit) != 0 ? &line_.payload : nullptr,
            (content & complete_bit) != 0,
            (content & others_quiescent_bit) != 0};
  }

 private:
  // Number of notices, whether there is a payload, and the two flags; all ones: a question.
  static constexpr unsigned content_bits = 24;
  static constexpr std::uint64_t content_mask = (std::uint64_t{1} << content_bits) - 1;
  static constexpr std::uint64_t payload_bit = std::uint64_t{1} << (content_bits - 1);
  static constexpr std::uint64_t complete_bit = payload_bit >> 1;
  static constexpr std::uint64_t others_quiescent_bit = complete_bit >> 1;

  struct alignas(64) Line {
    std::uint64_t mark;
    LogicalTime minimum;
    Round::Payload payload;
  };
  static_assert(sizeof(Line) == 64);

  static constexpr std::uint64_t question(std::uint64_t epoch) {
    return epoch << content_bits | content_mask;
  }
  coherence::Notice* notices() const { return reinterpret_cast<coherence::Notice*>(&line_ + 1); }

  Line& line_;
};

class Barrier final : public fabric::Listener {
 public:
  using Payload = Round::Payload;

  // Called in each passage after all earlier writes of this rank have been released, before the wait for
  // other ranks. Must not block.
  class ReleaseListener {
   public:
    virtual void on_released() noexcept = 0;

   protected:
    ~ReleaseListener() = default;
  };

  // Progress of this rank in one barrier.
  class Passage {
   public:
    // `payload` becomes rank 0's. `quiescent`: no thread of this rank touches shared memory during the
    // barrier (see Protocol::release). `complete`: all threads of this rank that may release or acquire wait
    // for this barrier to end.
    Passage(Payload& payload, bool quiescent, bool complete)
        : payload_(payload), quiescent_(quiescent), complete_(complete) {}
    Passage(const Passage&) = delete;
    // Carries no notices: releases and acquires nothing. Neither this barrier nor an earlier one sends a
    // request to a rank that has passed: it may leave the job.
    static Passage last(Payload& payload) { return Passage(payload); }
    // After the passage: whether all ranks but 0 were quiescent.
    bool others_quiescent() const { return others_quiescent_; }

   private:
    friend class Barrier;
    explicit Passage(Payload& payload) : payload_(payload), quiescent_(true), complete_(true), last_(true) {}
    enum class Stage : std::uint8_t { arrived, exchange, gathered, passed };

    Payload& payload_;
    const bool quiescent_;
    bool complete_;                 // on all ranks that this one has heard from
    bool others_quiescent_ = true;  // all ranks but 0 that this one has heard from
    const bool last_ = false;
    Stage stage_ = Stage::arrived;
    bool has_payload_ = false;
    bool gave_nothing_ = true;  // the own signature was empty
    // In the current round:
    unsigned round_ = 0;
    bool written_ = false;      // to the peer's slot
    bool sent_ = false;         // and the peer has its message if it wants one
    bool message_due_ = false;  // this rank has asked for one
    bool has_notices_ = false;  // on the sender's board
    std::uint64_t given_ = 0;   // mark of the own signature, for forget()
  };

  // `board` is board_bytes() of the rank's control region, at `board_offset` there, aligned to cache lines.
  // Notices are of the first `blocks_max` blocks.
  Barrier(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters, std::byte* board,
          std::uint64_t board_offset, std::size_t notices_max, std::uint64_t blocks_max);
  ~Barrier();
  static std::size_t board_bytes(std::uint32_t ranks, std::size_t notices_max);

  // Before the first passage; null: none. The listener outlives the barrier.
  void set_release_listener(ReleaseListener* listener);

  // Releases, waits for all ranks, acquires. One passage per rank at a time. pass() proceeds without tasks;
  // with few writes, and peers that arrive soon and can write to this rank's memory, it completes the
  // barrier. Result: whether it has; if not, finish() does the rest.
  bool pass(Passage& passage);
  Task<> finish(Passage& passage);
  // pass() and finish().
  Task<> arrive(Payload& payload, bool quiescent, bool complete);

  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace musubi::sync
