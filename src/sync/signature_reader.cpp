#include "sync/signature_reader.h"

#include <algorithm>

#include "base/event.h"
#include "coherence/core/block_words.h"
#include "coherence/regions.h"

namespace musubi::sync {
namespace {

using coherence::control_region;
using coherence::Notice;
using coherence::SignatureBoard;
using fabric::Step;

constexpr std::size_t first_notices = 16;

}  // namespace

SignatureReader::Look::Look(SignatureReader& reader)
    : reader_(reader), buffer_(reader.buffers_), expected_(std::min(reader.notices_max_, first_notices)) {}

std::array<Step, 3> SignatureReader::Look::steps() {
  return {reader_.sequence_step(before_),
          fabric::get(control_region, reader_.offset_, buffer_.data(), coherence::signature_bytes(expected_)),
          reader_.sequence_step(after_)};
}

SignatureReader::Look::Result SignatureReader::Look::result() {
  if (before_ != after_ || before_ % 2 != 0) return Result::torn;
  if (board().count <= expected_) return Result::whole;
  expected_ = board().count;
  return Result::too_short;
}

coherence::SignatureView SignatureReader::Look::signature() const {
  const auto* notices = reinterpret_cast<const Notice*>(buffer_.data() + sizeof(SignatureBoard));
  return {board().minimum, {notices, static_cast<std::size_t>(board().count)}};
}

const SignatureBoard& SignatureReader::Look::board() const {
  return *reinterpret_cast<const SignatureBoard*>(buffer_.data());
}

SignatureReader::SignatureReader(fabric::Fabric& fabric, coherence::Protocol& protocol, std::uint64_t offset,
                                 std::size_t notices_max)
    : fabric_(fabric),
      protocol_(protocol),
      offset_(offset),
      notices_max_(notices_max),
      buffers_(coherence::signature_bytes(notices_max)) {}

Step SignatureReader::sequence_step(std::uint64_t& sequence) const {
  return fabric::get(control_region, offset_, &sequence, sizeof sequence);
}

Task<std::uint64_t> SignatureReader::acquire_from(Rank peer, coherence::Audience audience) {
  Look look(*this);
  coherence::Scope scope = coherence::Scope::everything();
  scope.giver = peer;
  co_return co_await acquire(look, scope, false, audience);
}

Task<std::uint64_t> SignatureReader::acquire(Look& look, coherence::Scope scope, bool is_done,
                                             coherence::Audience audience) {
  for (unsigned attempt = 0;; is_done = false) {
    if (!is_done) {
      std::array<Step, 3> steps = look.steps();
      co_await fabric::transfer(fabric_, scope.giver, steps);
    }
    const Look::Result result = look.result();
    if (result == Look::Result::whole) break;
    if (result == Look::Result::torn) {
      ++attempt;
      co_await pause(attempt);
    }
  }
  co_await protocol_.acquire(look.signature(), audience, scope);
  co_return look.sequence();
}

}  // namespace musubi::sync
