// Reads the own signature of another rank, and acquires it: all that the rank has released or acquired.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer_pool.h"
#include "base/task.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"

namespace musubi::sync {

class SignatureReader {
 public:
  // The signatures lie at `offset` in the control regions.
  SignatureReader(fabric::Fabric& fabric, coherence::Protocol& protocol, std::uint64_t offset,
                  std::size_t notices_max);

  // Result: the sequence word of what was acquired: as long as the peer has that, there is nothing new.
  Task<std::uint64_t> acquire_from(Rank peer);

 private:
  fabric::Fabric& fabric_;
  coherence::Protocol& protocol_;
  std::uint64_t offset_;
  std::size_t notices_max_;
  BufferPool buffers_;
};

}  // namespace musubi::sync
