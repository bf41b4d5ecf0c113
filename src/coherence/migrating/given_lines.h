// Few bytes: a reader that has an older version of a block gets the lines that have changed since, after
// the result of the call by which it asks for the block, if the record at the home tells which these are
// (core/change_record.h) and there is room for them (docs/decisions/readers.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "base/buffer_pool.h"
#include "base/check.h"
#include "base/ids.h"
#include "coherence/core/change_record.h"
#include "coherence/core/line_mask.h"
#include "fabric/calls.h"
#include "fabric/fabric.h"

namespace musubi::coherence::migrating {

struct HomeSide;

// Part of a request.
struct LinesWanted {
  std::uint64_t base;  // write_ts of the version whose bytes the caller has; 0: none
  std::uint64_t room;  // bytes of lines that the caller takes
};

// A place for a result, and for the lines behind it: which ones, and their bytes.
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

}  // namespace musubi::coherence::migrating
