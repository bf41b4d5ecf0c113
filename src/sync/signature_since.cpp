#include "sync/signature_since.h"

#include <algorithm>
#include <atomic>
#include <cstring>

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

}  // namespace musubi::sync
