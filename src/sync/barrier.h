// Barrier of all ranks with a payload from rank 0: signatures travel in ceil(log2 P) rounds (dissemination
// barrier, Hensgen, Finkel and Manber 1988), so that at the end everybody has acquired everybody's writes.
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

  // Told in each passage when all that this rank wrote before has been released, and before any other rank is
  // waited for. Must not block.
  class ReleaseListener {
   public:
    virtual void on_released() noexcept = 0;

   protected:
    ~ReleaseListener() = default;
  };

  // How far this rank has got in one barrier.
  class Passage {
   public:
    // `payload` becomes rank 0's. `quiescent`: no thread of this rank touches shared memory meanwhile (see
    // Protocol::release). `complete`: all threads of this rank that may release or acquire wait for this
    // barrier to end.
    Passage(Payload& payload, bool quiescent, bool complete)
        : payload_(payload), quiescent_(quiescent), complete_(complete) {}
    Passage(const Passage&) = delete;
    // Without news: nothing is released or acquired. No rank that has passed is asked for anything by this
    // barrier, or by one before: it may leave the job.
    static Passage last(Payload& payload) { return Passage(payload); }
    // Passed: whether all ranks but 0 were quiescent.
    bool others_quiescent() const { return others_quiescent_; }

   private:
    friend class Barrier;
    explicit Passage(Payload& payload) : payload_(payload), quiescent_(true), complete_(true), last_(true) {}
    enum class Stage : std::uint8_t { arrived, exchange, gathered, passed };

    Payload& payload_;
    const bool quiescent_;
    bool complete_;                 // on all ranks that this one has heard of
    bool others_quiescent_ = true;  // all ranks but 0 that this one has heard of
    const bool last_ = false;
    Stage stage_ = Stage::arrived;
    bool has_payload_ = false;
    bool gave_nothing_ = true;  // the own signature was empty
    // Of the present round:
    unsigned round_ = 0;
    bool written_ = false;      // into the peer's slot
    bool sent_ = false;         // and the peer has its message if it wants one
    bool message_due_ = false;  // this rank has asked for one
    bool has_notices_ = false;  // those that lie on the sender's board
    std::uint64_t given_ = 0;   // mark of the own signature, for forget()
  };

  // `board` is board_bytes() of the rank's control region, at `board_offset` there, aligned to cache lines.
  // Notices are of the first `blocks_max` blocks.
  Barrier(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters, std::byte* board,
          std::uint64_t board_offset, std::size_t notices_max, std::uint64_t blocks_max);
  ~Barrier();
  static std::size_t board_bytes(std::uint32_t ranks, std::size_t notices_max);

  // Before the first passage; null: nobody. It outlives the barrier.
  void set_release_listener(ReleaseListener* listener);

  // Releases, waits for everybody, acquires. One passage per rank at a time.
  // pass() goes as far as there is nothing to do that needs a task. With little written, and peers that come
  // soon and can write to this rank's memory, it goes to the end. Result: whether it is through; if not,
  // finish() does the rest.
  bool pass(Passage& passage);
  Task<> finish(Passage& passage);
  // Both.
  Task<> arrive(Payload& payload, bool quiescent, bool complete);

  const char* on_message(Rank from, std::span<const std::byte> body) noexcept override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace musubi::sync
