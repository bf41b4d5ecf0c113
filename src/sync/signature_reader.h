// Reads the own signature of another rank, and acquires it: all that the rank has released or acquired.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/buffer_pool.h"
#include "base/task.h"
#include "coherence/core/signature.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"
#include "fabric/transfer.h"

namespace musubi::sync {

class SignatureReader {
 public:
  // One look at a signature. The sequence word tells a torn read.
  class Look {
   public:
    enum class Result { whole, torn, too_short };

    explicit Look(SignatureReader& reader);

    // To be done at the peer, in this order; other steps may stand around them.
    std::array<fabric::Step, 3> steps();
    // Of steps() that were done. Where it was too short, the next ones are long enough for what was there.
    Result result();
    // REQUIRES: result() was `whole`.
    coherence::SignatureView signature() const;
    std::uint64_t sequence() const { return before_; }

   private:
    const coherence::SignatureBoard& board() const;

    const SignatureReader& reader_;
    BufferPool::Buffer buffer_;
    std::size_t expected_;
    std::uint64_t before_ = 0;
    std::uint64_t after_ = 0;
  };

  // The signatures lie at `offset` in the control regions.
  SignatureReader(fabric::Fabric& fabric, coherence::Protocol& protocol, std::uint64_t offset,
                  std::size_t notices_max);

  // Result: the sequence word of what was acquired: as long as the peer has that, there is nothing new.
  Task<std::uint64_t> acquire_from(Rank peer, coherence::Audience audience = coherence::Audience::unknown);
  // The same by `look`, from `scope.giver`; `is_done`: its steps have been done there.
  Task<std::uint64_t> acquire(Look& look, coherence::Scope scope, bool is_done,
                              coherence::Audience audience = coherence::Audience::unknown);
  // Reads the sequence word alone.
  fabric::Step sequence_step(std::uint64_t& sequence) const;

 private:
  fabric::Fabric& fabric_;
  coherence::Protocol& protocol_;
  std::uint64_t offset_;
  std::size_t notices_max_;
  BufferPool buffers_;
};

}  // namespace musubi::sync
