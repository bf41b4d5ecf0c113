#include "sync/signature_reader.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "base/event.h"
#include "coherence/core/block_words.h"
#include "coherence/regions.h"

namespace musubi::sync {
namespace {

using coherence::Notice;
using coherence::SignatureBoard;

std::uint64_t load(const std::byte* place) noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(place), __ATOMIC_RELAXED);
}

// Copies by words: the rank may be changing it, which the sequence word detects.
template <class T>
T copy(const std::byte* place) noexcept {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
  T object;
  for (std::size_t at = 0; at < sizeof(T); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = load(place + at);
    std::memcpy(reinterpret_cast<std::byte*>(&object) + at, &word, sizeof word);
  }
  return object;
}

}  // namespace

fabric::Verdict signature_since(fabric::Call& call, const void* data) noexcept {
  const SignaturePlace& place = *static_cast<const SignaturePlace*>(data);
  SinceRequest request;
  const std::byte* const own =
      call.at(coherence::control_region, place.offset, coherence::signature_bytes(place.notices_max));
  if (!call.read(request) || own == nullptr) return fabric::malformed;
  const auto sequence = [own] {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(own), __ATOMIC_ACQUIRE);
  };
  const std::uint64_t before = sequence();
  const SignatureBoard board = copy<SignatureBoard>(own);
  if (before % 2 != 0 || board.sequence != before || board.count > place.notices_max) return since::changing;
  const std::byte* const notices = own + sizeof board;
  const std::byte* const stamps = own + coherence::notice_bytes(place.notices_max);
  const auto is_new = [&](std::size_t i) { return load(stamps + i * sizeof(std::uint64_t)) > request.stamp; };
  if (!call.add(board)) return fabric::malformed;
  bool fits = true;
  for (std::size_t i = 0; fits && i < board.count; ++i) {
    if (is_new(i)) fits = call.add(copy<Notice>(notices + i * sizeof(Notice)));
  }
  place.hooks.others_may_act();
  std::atomic_thread_fence(std::memory_order_acquire);
  if (load(own) != before) return since::changing;
  return fits ? since::complete : since::too_many;
}

namespace {

using coherence::control_region;
using coherence::Notice;
using coherence::SignatureBoard;
using fabric::Step;

constexpr std::size_t end_bytes = sizeof(fabric::CallEnd);

// Room for an answer or a whole signature, and for an answer sent unasked, which may arrive at the same time.
std::size_t buffer_bytes(std::size_t notices_max) {
  return SignatureReader::Look::sent_answer_bytes_max + end_bytes +
         coherence::notice_bytes(std::max(notices_max, since_notices_max));
}

}  // namespace

SignatureReader::Look::Look(SignatureReader& reader)
    : reader_(reader), buffer_(reader.buffers_), answer_(buffer_.data() + sent_answer_bytes_max) {}

fabric::CallEnd& SignatureReader::Look::end() const {
  return *reinterpret_cast<fabric::CallEnd*>(answer_);
}

SignatureBoard& SignatureReader::Look::board() const {
  return *reinterpret_cast<SignatureBoard*>(answer_ + end_bytes);
}

std::span<const Step> SignatureReader::Look::steps_for(Rank peer) noexcept {
  MUSUBI_CHECK(peer.value < reader_.fabric_.ranks());
  if (expected_ == 0) {
    request_.stamp = reader_.acquired_[peer.value].load();
    steps_[0] = fabric::call(coherence::signature_procedure, std::as_bytes(std::span(&request_, 1)), end(),
                             coherence::notice_bytes(since_notices_max));
    return std::span(steps_).first(1);
  }
  MUSUBI_CHECK(expected_ <= reader_.place_.notices_max);
  steps_ = {reader_.sequence_step(before_),
            fabric::get(control_region, reader_.place_.offset, &board(), coherence::notice_bytes(expected_)),
            reader_.sequence_step(after_)};
  return steps_;
}

SignatureReader::Look::Result SignatureReader::Look::result() {
  if (expected_ == 0) {
    if (end().verdict == since::changing) return Result::torn;
    if (end().verdict == since::too_many) {
      expected_ = board().count;
      return Result::too_short;
    }
    MUSUBI_CHECK(end().verdict == since::complete && end().bytes >= sizeof(SignatureBoard));
    MUSUBI_CHECK(end().bytes >= sizeof(SignatureBoard));
    board().count = (end().bytes - sizeof(SignatureBoard)) / sizeof(Notice);
    return Result::whole;
  }
  if (before_ != after_ || before_ % 2 != 0) return Result::torn;
  if (board().count <= expected_) return Result::whole;
  expected_ = board().count;
  return Result::too_short;
}

coherence::SignatureView SignatureReader::Look::signature() const {
  MUSUBI_CHECK(board().count <= std::max(reader_.place_.notices_max, since_notices_max));
  const auto* notices = reinterpret_cast<const Notice*>(&board() + 1);
  return {board().minimum, {notices, static_cast<std::size_t>(board().count)}};
}

SignatureReader::SignatureReader(fabric::Fabric& fabric, coherence::Protocol& protocol, std::uint64_t offset,
                                 std::size_t notices_max, Hooks hooks)
    : fabric_(fabric),
      protocol_(protocol),
      place_{offset, notices_max, hooks},
      buffers_(buffer_bytes(notices_max)),
      acquired_(new std::atomic<std::uint64_t>[fabric.ranks()] {}) {
  fabric_.offer(coherence::signature_procedure, {&signature_since, &place_});
}

Step SignatureReader::sequence_step(std::uint64_t& sequence) const {
  return fabric::get(control_region, place_.offset, &sequence, sizeof sequence);
}

Task<std::uint64_t> SignatureReader::acquire_from(Rank peer, coherence::Audience audience) {
  MUSUBI_CHECK(peer.value < fabric_.ranks());
  Look look(*this);
  coherence::Scope scope = coherence::Scope::everything();
  scope.giver = peer;
  co_return co_await acquire(look, scope, false, audience);
}

// Only after the acquire: another thread that sees the stamp continues without acquiring.
void SignatureReader::note(Rank peer, std::uint64_t stamp) noexcept {
  MUSUBI_CHECK(peer.value < fabric_.ranks());
  std::atomic<std::uint64_t>& acquired = acquired_[peer.value];
  std::uint64_t known = acquired.load();
  while (known < stamp && !acquired.compare_exchange_weak(known, stamp)) {
  }
}

Task<std::uint64_t> SignatureReader::acquire(Look& look, coherence::Scope scope, bool is_done,
                                             coherence::Audience audience) {
  for (unsigned attempt = 0;; is_done = false) {
    if (!is_done) {
      co_await fabric::transfer(fabric_, scope.giver, look.steps_for(scope.giver));
    }
    const Look::Result result = look.result();
    if (result == Look::Result::whole) break;
    if (result == Look::Result::torn) {
      ++attempt;
      co_await pause(attempt);
    }
  }
  if (place_.hooks.injected(InjectedBug::news_noted_too_early)) note(scope.giver, look.stamp());
  co_await protocol_.acquire(look.signature(), audience, scope);
  note(scope.giver, look.stamp());
  co_return look.sequence();
}

}  // namespace musubi::sync
