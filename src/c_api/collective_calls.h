// The order of collective calls: each call has a number, so that ranks in different calls are detected and
// named.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "c_api/job.h"
#include "runtime/api/runtime.h"

namespace musubi::c_api {

enum class Call : std::uint32_t {
  start,
  barrier,
  broadcast,
  finalize,
  ginit,
  broadcast_values,
  reduce,
  allreduce,
  alloc_with,
  free_with,
  gas_alloc,
  gas_free,
  gas_share,
  gas_unshare
};

// The word of a barrier's payload that names the call.
inline constexpr std::size_t word_of_call = 5;
// "musubi_allreduce (24 bytes, type 2, operation 1, root 0)".
std::array<char, 120> described(const runtime::CollectiveTerms& terms);

// A barrier of the job for the call `call`. `payload`: its last word is reserved. Ends the job if rank 0 is
// in another call.
void meet(runtime::Runtime& runtime, Call call, runtime::BarrierPayload& payload);
void meet(runtime::Runtime& runtime, Call call);
// Also if rank 0 has other arguments.
void meet(runtime::Runtime& runtime, Call call, const std::array<std::uint64_t, 3>& arguments);
// Whether `here` is true at every rank; a part of the collective call `call`.
bool holds_everywhere(runtime::Runtime& runtime, Call call, bool here);

// As runtime::Coordination::gather, for a value of any size: `take(bytes_before, all)` gets each part.
template <class Take>
void gather(runtime::Runtime& runtime, runtime::CollectiveTerms terms, const std::byte* mine, Take take) {
  const std::size_t total = terms.bytes;
  const std::size_t part_max = runtime.coordination().gather_bytes_max() / 8 * 8;
  const std::size_t givers = terms.giver == runtime::CollectiveTerms::all_give ? runtime.ranks() : 1;
  std::vector<std::byte> all(givers * std::min(total, part_max));
  terms.part = total;  // of all parts together
  for (std::size_t before = 0; before < total; before += terms.bytes) {
    terms.bytes = std::min(part_max, total - before);
    runtime.coordination().gather(terms, mine + before, std::span(all).first(givers * terms.bytes));
    take(before, std::span<const std::byte>(all).first(givers * terms.bytes));
  }
}

// Before the first call.
void name_mismatches(runtime::Runtime& runtime);

}  // namespace musubi::c_api
