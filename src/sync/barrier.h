// Barrier of all ranks with a payload from rank 0: signatures travel in ceil(log2 P) rounds (dissemination
// barrier, Hensgen, Finkel and Manber 1988), so that at the end every rank has acquired the writes of all
// ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/task.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"
#include "sync/barrier_slot.h"
#include "trace/counters.h"

namespace musubi::sync {

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
