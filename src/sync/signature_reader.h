// Reads the own signature of another rank and acquires it: all changes that the rank has released or
// acquired.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/buffer_pool.h"
#include "base/task.h"
#include "coherence/core/signature.h"
#include "coherence/protocol.h"
#include "fabric/calls.h"
#include "fabric/fabric.h"
#include "fabric/transfer.h"
#include "hooks/hooks.h"

namespace musubi::sync {

// A call that returns the notices of a rank's signature that the caller does not have. A program that only
// hands locks over never empties its signature, so that most of it is known at each hand-over.

// Location of the signatures in the control regions.
struct SignaturePlace {
  std::uint64_t offset;
  std::size_t notices_max;
  Hooks hooks;
};

struct SinceRequest {
  std::uint64_t stamp;  // SignatureBoard::stamp of the caller's last acquire from this rank; 0: none
};

// The verdicts. The result is the head of the board, followed, if `complete`, by the notices added after the
// stamp.
namespace since {
inline constexpr fabric::Verdict complete = 1;
inline constexpr fabric::Verdict too_many = 2;  // they exceed the result: get the whole signature
inline constexpr fabric::Verdict changing = 3;  // ask again
}  // namespace since

inline constexpr std::size_t since_notices_max =
    (fabric::call_result_bytes_max - sizeof(coherence::SignatureBoard)) / sizeof(coherence::Notice);

// A fabric::Procedure; `data`: a SignaturePlace.
fabric::Verdict signature_since(fabric::Call& call, const void* data) noexcept;

class SignatureReader {
 public:
  // One read of a signature: by a call, the notices added since this rank last acquired it; by gets, the
  // whole, if those are too many. The sequence word detects a torn read.
  class Look {
   public:
    static constexpr std::size_t sent_answer_bytes_max = fabric::message_bytes_max;
    enum class Result { whole, torn, too_short };

    explicit Look(SignatureReader& reader);

    // To be executed at the peer, in this order; other steps may surround them, but no other call.
    std::span<const fabric::Step> steps_for(Rank peer) noexcept;
    // Alternatively the peer makes the call itself, for the notices after the stamp, and sends the answer to
    // answer_room(), of sent_answer_bytes_max; take_answer() then replaces the steps.
    std::uint64_t acquired_stamp(Rank peer) const noexcept { return reader_.acquired_stamp(peer); }
    std::span<std::byte> answer_room() const noexcept { return {buffer_.data(), sent_answer_bytes_max}; }
    void take_answer() noexcept { answer_ = buffer_.data(); }
    // After the steps. If the buffer was too short, the next steps fetch the whole signature.
    Result result();
    // REQUIRES: result() was `whole`.
    coherence::SignatureView signature() const;
    std::uint64_t sequence() const { return board().sequence; }
    std::uint64_t stamp() const { return board().stamp; }

   private:
    // The buffer for the answer of a call; the board of a whole signature has the place of its result.
    fabric::CallEnd& end() const;
    coherence::SignatureBoard& board() const;

    const SignatureReader& reader_;
    BufferPool::Buffer buffer_;
    std::byte* answer_;         // in the buffer: of the call made, or the one sent
    std::size_t expected_ = 0;  // notices of the whole signature; 0: only new ones are requested
    SinceRequest request_{};
    std::array<fabric::Step, 3> steps_{};
    std::uint64_t before_ = 0;
    std::uint64_t after_ = 0;
  };

  // The signatures are at `offset` in the control regions. Offers its procedure to other ranks.
  SignatureReader(fabric::Fabric& fabric, coherence::Protocol& protocol, std::uint64_t offset,
                  std::size_t notices_max, Hooks hooks);

  // Result: the sequence word of the acquired signature: as long as the peer has that, there is nothing new.
  Task<std::uint64_t> acquire_from(Rank peer, coherence::Audience audience = coherence::Audience::unknown);
  // The same with `look`, from `scope.giver`; `is_done`: its steps have been executed there.
  Task<std::uint64_t> acquire(Look& look, coherence::Scope scope, bool is_done,
                              coherence::Audience audience = coherence::Audience::unknown);
  // The stamp of `peer`'s signature up to which everything has been acquired; 0: none.
  std::uint64_t acquired_stamp(Rank peer) const noexcept { return acquired_[peer.value].load(); }
  // Reads only the sequence word.
  fabric::Step sequence_step(std::uint64_t& sequence) const;

 private:
  // Everything of `peer` up to the stamp has been acquired.
  void note(Rank peer, std::uint64_t stamp) noexcept;

  fabric::Fabric& fabric_;
  coherence::Protocol& protocol_;
  const SignaturePlace place_;
  BufferPool buffers_;
  std::unique_ptr<std::atomic<std::uint64_t>[]> acquired_;  // a stamp for each rank
};

}  // namespace musubi::sync
