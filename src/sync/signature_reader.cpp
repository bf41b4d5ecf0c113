#include "sync/signature_reader.h"

#include <algorithm>
#include <array>

#include "base/event.h"
#include "coherence/core/block_words.h"
#include "coherence/core/signature.h"
#include "fabric/transfer.h"

namespace musubi::sync {

using coherence::control_region;
using coherence::Notice;
using coherence::SignatureBoard;
using fabric::Step;

SignatureReader::SignatureReader(fabric::Fabric& fabric, coherence::Protocol& protocol, std::uint64_t offset,
                                 std::size_t notices_max)
    : fabric_(fabric),
      protocol_(protocol),
      offset_(offset),
      notices_max_(notices_max),
      buffers_(coherence::signature_bytes(notices_max)) {}

// The sequence word tells a torn read.
Task<std::uint64_t> SignatureReader::acquire_from(Rank peer) {
  constexpr std::size_t first_notices = 16;
  BufferPool::Buffer buffer(buffers_);
  auto* board = reinterpret_cast<SignatureBoard*>(buffer.data());
  std::size_t expected = std::min(notices_max_, first_notices);
  std::uint64_t before = 0;
  for (unsigned attempt = 0;;) {
    std::uint64_t after = 0;
    std::array<Step, 3> steps{
        fabric::get(control_region, offset_, &before, sizeof before),
        fabric::get(control_region, offset_, board, coherence::signature_bytes(expected)),
        fabric::get(control_region, offset_, &after, sizeof after)};
    co_await fabric::transfer(fabric_, peer, steps);
    if (before != after || before % 2 != 0) {
      ++attempt;
      co_await pause(attempt);
    } else if (board->count > expected) {
      expected = board->count;
    } else {
      break;
    }
  }
  const auto* notices = reinterpret_cast<const Notice*>(buffer.data() + sizeof(SignatureBoard));
  co_await protocol_.acquire({board->minimum, {notices, static_cast<std::size_t>(board->count)}},
                             coherence::Audience::unknown);
  co_return before;
}

}  // namespace musubi::sync
