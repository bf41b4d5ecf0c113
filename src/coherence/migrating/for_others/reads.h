// Reads that other ranks have carried out here. A look at a block where its home may be, with a lease and a
// mark: a read miss does it by one call, and the bytes follow in the same batch, if they are wanted. A
// request for a public copy: a reader with a notice, or with a lease, sends it to the rank that has the copy.
//
// A reader that has an older version of a block gets the lines that have changed since, after the result of
// the call, if the record here tells which lines these are (core/change_record.h) and there is room for them
// (docs/decisions/readers.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "base/buffer_pool.h"
#include "base/check.h"
#include "base/ids.h"
#include "coherence/core/block_words.h"
#include "coherence/core/change_record.h"
#include "coherence/core/line_mask.h"
#include "coherence/core/parameters.h"
#include "coherence/core/visit_layout.h"
#include "coherence/rules/relays.h"
#include "coherence/store/block_store.h"
#include "fabric/calls.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"

namespace musubi::coherence::migrating {

// The state of the rank where a call of this policy is carried out.
struct HomeSide {
  Rank self;  // the rank that carries the call out: the target, or a caller that maps its memory
  VisitLayout layout;
  std::uint32_t places;  // readers of a small block that a rank serves itself; 0: all
  Hooks hooks;
  const Parameters* parameters;  // of `self`, as is the store
  BlockStore* store;

  // REQUIRES: there is such a block.
  std::uint32_t places_for(BlockId block) const noexcept {
    MUSUBI_CHECK(block.value < store->space().blocks());
    return rules::relay_places_for(store->space().extent(block).bytes, places);
  }
};

// Part of a request.
struct LinesWanted {
  std::uint64_t base;  // write_ts of the version whose bytes the caller has; 0: none
  std::uint64_t room;  // bytes of lines that the caller takes
};

// A place for a result, and for the lines after it: which ones, and their bytes.
template <class Result>
struct LinesAnswer {
  static constexpr std::size_t room =
      (fabric::call_result_bytes_max - sizeof(Result) - sizeof(LineMask)) / 64 * 64;

  fabric::CallEnd end;
  Result result;
  LineMask lines;
  std::byte bytes[room];

  static LinesAnswer* in(const BufferPool::Buffer& buffer) {
    auto* const answer = new (buffer.data()) LinesAnswer;
    answer->end = {};
    answer->result = {};
    return answer;
  }
  // The bytes of the lines that have come. REQUIRES: a verdict that says so.
  std::span<const std::byte> came() const {
    constexpr std::size_t before = sizeof(Result) + sizeof(LineMask);
    MUSUBI_CHECK(end.bytes >= before && end.bytes <= before + room, "%u bytes of lines", end.bytes);
    return {bytes, end.bytes - before};
  }
};

template <class Request, class Result>
fabric::Step call(fabric::ProcedureId procedure, const Request& request, LinesAnswer<Result>& answer) {
  return fabric::call(procedure, std::as_bytes(std::span(&request, 1)), answer.end,
                      sizeof answer - sizeof answer.end);
}

// The record of changes that the block has at the target of the call; null if there is no such place. Other
// blocks share it (ChangeBoard).
ChangeRecord* record_of(const fabric::Call& call, const HomeSide& side, BlockId block) noexcept;

// Part of a procedure at the home, which has no public copy: changes are worth noting from now on.
void ask_for_lines(const fabric::Call& call, const HomeSide& side, BlockId block, const LinesWanted& wanted,
                   LogicalTime newest, std::uint64_t sections) noexcept;

// Part of a procedure at the rank that has the public copy, of version `newest` as long as its version word
// is `sections`: adds the lines to the result. Result: false if the whole block must follow; then they are
// worth noting from now on.
bool give_lines(fabric::Call& call, const HomeSide& side, BlockId block, const LinesWanted& wanted,
                LogicalTime newest, std::uint64_t sections) noexcept;

// From which rank the caller of a look takes the bytes of a public copy.
enum class BytesFrom : std::uint32_t {
  home_or_reader,  // as the home says
  home,
  reader,  // one that it knows
};

struct LookRequest {
  std::uint64_t block;
  std::uint64_t write_ts;        // of the version that the caller has
  std::uint64_t acquired;        // until then at least it wants to hold the newest one
  std::uint64_t shortest_lease;  // in ticks
  std::uint32_t initial_home;    // of the block
  std::uint32_t has_bytes;       // whether the caller has the bytes of its version
  BytesFrom bytes_from;
  std::uint32_t reserved;
  LinesWanted lines;
};

struct LookResult {
  BlockWords words;
  std::uint64_t leased_until;  // of the version that the words name, unless it has changed since
  std::uint64_t relay;         // with looks::relayed: a rank and 1; 0: the reader that the caller knows
};

// The verdicts. The last five: the rank is the home, no rank has the lock, the lease is there. The caller
// must see afterwards, by owner word and version, that this is still so.
namespace looks {
inline constexpr fabric::Verdict elsewhere = 1;     // the home has moved on
inline constexpr fabric::Verdict changing = 2;      // another rank has the lock, or is faster: look again
inline constexpr fabric::Verdict same_version = 3;  // as the caller has
inline constexpr fabric::Verdict in_copy = 4;       // the bytes are wanted, from the public copy
inline constexpr fabric::Verdict in_use = 5;        // the same; there is none: the live bytes
inline constexpr fabric::Verdict relayed = 6;       // the same, from the public copy of another reader
inline constexpr fabric::Verdict in_lines = 7;      // the changed lines follow the result
}  // namespace looks

// A fabric::Procedure; `data`: a HomeSide.
fabric::Verdict look_at_home(fabric::Call& call, const void* data) noexcept;

struct CopyRequest {
  std::uint64_t block;
  std::uint64_t wanted;   // write_ts of the version, or of an older one
  std::uint32_t links;    // how often the caller was sent on
  std::uint32_t insists;  // it is not to be sent on
  LinesWanted lines;
};

struct CopyResult {
  std::uint64_t version;       // BlockWords, before the bytes
  std::uint64_t atomic_words;  // BlockWords
  std::uint64_t relay;         // a rank
};

namespace copies {
inline constexpr fabric::Verdict here = 1;
inline constexpr fabric::Verdict relayed = 2;  // another reader is to be asked
inline constexpr fabric::Verdict coming = 3;   // it is on its way
inline constexpr fabric::Verdict not_here = 4;
inline constexpr fabric::Verdict in_lines = 5;  // the changed lines follow the result
}  // namespace copies

// A fabric::Procedure; `data`: a HomeSide.
fabric::Verdict give_copy(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::coherence::migrating
