// musubi.h: shared memory, also with attributes, and at a rank of choice.
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>

#include "base/export.h"
#include "c_api/collective_calls.h"
#include "c_api/job.h"
#include "coherence/policy.h"
#include "heap/heap.h"
#include "musubi/musubi.h"

using musubi::Rank;
using musubi::Result;
using musubi::c_api::Call;
using musubi::c_api::current_job;
using musubi::c_api::Job;
using musubi::coherence::policy_list;
using musubi::heap::process_heap;
using musubi::runtime::CollectiveTerms;
using musubi::runtime::SegmentRequest;
using musubi::runtime::unprotected_block_bytes_min;
using musubi::vm::InitialHome;

namespace {

constexpr std::size_t alignment_min = 16;
constexpr std::size_t alignment_max = std::size_t{1} << 30;
static_assert(MUSUBI_CHECKED_BLOCK_BYTES_MIN == unprotected_block_bytes_min);
constexpr std::size_t element_bytes_max = std::numeric_limits<std::uint32_t>::max();

// The constants of memory.h are the numbers of the policies.
#define MUSUBI_POLICY(number, name, c_name, use, kind) static_assert(c_name == (number));
#include "coherence/policies.def"
#undef MUSUBI_POLICY

struct Request {
  SegmentRequest segment;
  std::size_t alignment;
};

bool is_power_of_two_or_zero(std::size_t value) {
  return value == 0 || std::has_single_bit(value);
}

// Elements count from the beginning of a block.
bool is_element_right(const musubi_attributes& a, std::size_t page) {
  if (a.element_bytes == 0) return true;
  if (a.policy != MUSUBI_POLICY_ENTRY || a.element_bytes > element_bytes_max) return false;
  return a.alignment <= page || page % a.element_bytes == 0;
}

// False: invalid attributes.
bool read_attributes(const musubi_attributes& a, std::size_t bytes, std::uint32_t ranks, Request& request) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const bool is_checked = a.checks == MUSUBI_CHECKED_BY_CODE;
  if (a.checks != MUSUBI_CHECKED_BY_PAGES && !is_checked) return false;
  const std::size_t least = is_checked ? unprotected_block_bytes_min : page;
  const bool sizes_are_right =
      is_power_of_two_or_zero(a.alignment) && a.alignment <= alignment_max &&
      is_power_of_two_or_zero(a.block_bytes) &&
      (a.block_bytes == 0 || (a.block_bytes >= least && a.block_bytes <= MUSUBI_BLOCK_BYTES_MAX));
  const bool is_at = a.placement == MUSUBI_PLACE_AT;
  const bool home_is_right = is_at ? a.home >= 0 && static_cast<std::uint32_t>(a.home) < ranks : a.home == 0;
  if (bytes == 0 || !sizes_are_right || !home_is_right) return false;
  const bool is_home_only = a.policy == MUSUBI_POLICY_HOME_ONLY;
  const auto policy = static_cast<std::size_t>(is_home_only ? MUSUBI_POLICY_HOME : a.policy);
  if (a.policy < 0 || policy >= policy_list.size()) return false;
  if (!is_element_right(a, page)) return false;
  switch (a.placement) {
    case MUSUBI_PLACE_CYCLIC:
      request.segment.placement = InitialHome::cyclic;
      break;
    case MUSUBI_PLACE_BLOCK:
      request.segment.placement = InitialHome::slices;
      break;
    case MUSUBI_PLACE_AT:
      request.segment.placement = InitialHome::one_rank;
      break;
    case MUSUBI_PLACE_FIRST_TOUCH:
      // A block moves to its first writer, from any initial home.
      if (a.policy != MUSUBI_POLICY_MIGRATING) return false;
      request.segment.placement = InitialHome::cyclic;
      break;
    default:
      return false;
  }
  request.alignment = std::max(a.alignment, alignment_min);
  // Segments begin at a block.
  const std::size_t block = std::max(a.block_bytes, page);
  const std::size_t padding = request.alignment > block ? request.alignment : 0;
  if (bytes > SIZE_MAX - padding) return false;
  request.segment.bytes = bytes + padding;
  request.segment.block_bytes = a.block_bytes;
  request.segment.home = Rank{static_cast<std::uint32_t>(a.home)};
  request.segment.policy = policy_list[policy].policy;
  request.segment.unprotected = is_checked;
  request.segment.home_only = is_home_only && is_checked;
  request.segment.element_bytes = static_cast<std::uint32_t>(a.element_bytes);
  return true;
}

// Ends the job unless all ranks make the same request.
void compare_with_others(Job& job, const musubi_attributes& a, std::size_t bytes, Call call) {
  const auto log_of = [](std::size_t size) { return static_cast<std::uint32_t>(std::bit_width(size)); };
  CollectiveTerms terms;
  terms.call = static_cast<std::uint32_t>(call);
  terms.detail = log_of(a.block_bytes) << 24 | log_of(a.alignment) << 16 |
                 static_cast<std::uint32_t>(a.policy) << 8 | static_cast<std::uint32_t>(a.checks) << 4 |
                 static_cast<std::uint32_t>(a.placement);
  terms.root = static_cast<std::uint32_t>(a.home);
  terms.part = bytes;
  job.runtime.coordination().gather(terms, nullptr, {});
}

// The number of an error cannot name the object that lacks checks.
bool may_be_unprotected(Job& job, const SegmentRequest& request) {
  const Result<void> may = job.runtime.segments().may_be_unprotected(request);
  if (may) return true;
  const std::string line = "musubi: musubi_alloc_with: " + may.error().message + "\n";
  if (job.runtime.self() == Rank{0}) std::fputs(line.c_str(), stderr);
  return false;
}

}  // namespace

MUSUBI_EXPORT void* musubi_alloc(size_t bytes) {
  if (current_job() == nullptr) return nullptr;
  return process_heap.allocate_shared(bytes);
}

MUSUBI_EXPORT int musubi_free(void* memory) {
  if (current_job() == nullptr) return MUSUBI_ERROR_STATE;
  if (memory == nullptr) return MUSUBI_OK;
  if (!process_heap.is_shared(memory)) return MUSUBI_ERROR_ADDRESS;
  process_heap.release(memory);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_alloc_with(const musubi_attributes* attributes, size_t bytes, void** memory) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (attributes == nullptr || memory == nullptr) return MUSUBI_ERROR_ADDRESS;
  Request request{};
  if (!read_attributes(*attributes, bytes, job->runtime.ranks(), request)) return MUSUBI_ERROR_ARGUMENT;
  // Rank 0 has printed the reason before any rank returns, which may end the job.
  const bool is_refused = request.segment.unprotected && !may_be_unprotected(*job, request.segment);
  compare_with_others(*job, *attributes, bytes, Call::alloc_with);
  if (is_refused) return MUSUBI_ERROR_ARGUMENT;
  void* found = job->added.take_again(request.segment, request.alignment);
  if (found == nullptr) {
    auto added = job->runtime.segments().add(request.segment);
    if (!added) return MUSUBI_ERROR_MEMORY;
    found = job->added.add(request.segment, added.value()->base, request.alignment);
  }
  *memory = found;
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_set_home(const void* memory, size_t bytes, int rank) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (rank < 0 || static_cast<std::uint32_t>(rank) >= job->runtime.ranks()) return MUSUBI_ERROR_ARGUMENT;
  if (!job->added.contains(memory, bytes)) return MUSUBI_ERROR_ADDRESS;
  const Rank home{static_cast<std::uint32_t>(rank)};
  return job->runtime.segments().set_home(memory, bytes, home) ? MUSUBI_OK : MUSUBI_ERROR_ARGUMENT;
}

// A barrier: no rank allocates the memory again while another rank still uses it.
MUSUBI_EXPORT int musubi_free_with(void* memory) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (!job->added.release(memory)) return MUSUBI_ERROR_ADDRESS;
  musubi::c_api::meet(job->runtime, Call::free_with, {reinterpret_cast<std::uintptr_t>(memory)});
  return MUSUBI_OK;
}

MUSUBI_EXPORT void* musubi_alloc_aligned(size_t alignment, size_t bytes) {
  if (current_job() == nullptr || !std::has_single_bit(alignment) || alignment > alignment_max) {
    return nullptr;
  }
  return process_heap.allocate_aligned(alignment, bytes, nullptr);
}

MUSUBI_EXPORT void* musubi_alloc_at(int rank, size_t bytes) {
  Job* const job = current_job();
  if (job == nullptr || rank < 0 || static_cast<std::uint32_t>(rank) >= job->runtime.ranks()) {
    return nullptr;
  }
  if (Rank{static_cast<std::uint32_t>(rank)} == job->runtime.self()) return musubi_alloc(bytes);
  std::uint64_t address = 0;
  job->runtime.remote_calls().call(Rank{static_cast<std::uint32_t>(rank)},
                                   musubi::c_api::allocation_procedure, std::as_bytes(std::span{&bytes, 1}),
                                   std::as_writable_bytes(std::span{&address, 1}));
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}
