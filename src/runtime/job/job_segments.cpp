#include "runtime/job/job_segments.h"

#include <bit>
#include <string>

#include "coherence/policy.h"
#include "os/memory.h"

namespace musubi::runtime {
namespace {

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Marks the payload of this call: a rank at another call gets rank 0's payload without the mark.
constexpr std::uint64_t mark_of_segments = 0x5e67;

BarrierPayload payload_of(const vm::Segment& segment) {
  return {mark_of_segments,
          segment.bytes,
          segment.block_bytes,
          segment.slice_bytes,
          std::uint64_t{segment.element_bytes} << 32 | segment.home.value,
          static_cast<std::uint64_t>(segment.initial_home) << 16 | std::uint64_t{segment.policy} << 8 |
              segment.merge_unit};
}

}  // namespace

// An unused page precedes each segment and catches overruns of the one before it.
vm::Segment JobSegments::segment_for(const SegmentRequest& request) const {
  const std::size_t page = os::page_bytes();
  vm::Segment segment;
  segment.name = "added";
  segment.bytes = round_up(request.bytes, page);
  segment.block_bytes = request.block_bytes != 0 ? request.block_bytes : job_.settings.heap_block_bytes;
  segment.base = round_up(next_.load() + page, segment.block_bytes);
  segment.initial_home = request.placement;
  segment.home = request.home;
  segment.policy = coherence::number_of(request.policy);
  segment.merge_unit = request.merge_unit;
  segment.element_bytes = request.element_bytes;
  if (request.placement == vm::InitialHome::slices) {
    const std::uint64_t blocks = round_up(segment.bytes, segment.block_bytes) / segment.block_bytes;
    segment.slice_bytes = round_up(blocks, job_.ranks) / job_.ranks * segment.block_bytes;
  }
  return segment;
}

std::size_t JobSegments::bytes_left() const noexcept {
  const std::uintptr_t end = job_.plan.added_base + job_.plan.added_bytes;
  const std::uintptr_t next = next_.load();
  return next < end ? end - next : 0;
}

Result<void> JobSegments::change_page_manager(const void* address, std::size_t bytes, Rank manager) {
  if (manager.value >= job_.ranks) {
    return Error{"rank " + std::to_string(manager.value) + " cannot manage pages: the job has " +
                 std::to_string(job_.ranks) + " ranks"};
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const vm::Segment* const segment = job_.plan.space.segment_at(begin);
  const bool is_inside = segment != nullptr && segment->policy == number_of(coherence::Policy::entry) &&
                         bytes <= segment->base + segment->bytes - begin;
  if (!is_inside) {
    return Error{
        "pages whose manager changes belong to one segment of the policy entry: give a range inside "
        "of memory that was added with it"};
  }
  if (bytes == 0 || page_managers_ == nullptr) return {};
  const std::uint64_t first = (begin - segment->base) / segment->block_bytes;
  const std::uint64_t last = (begin + bytes - 1 - segment->base) / segment->block_bytes;
  page_managers_->change_manager({BlockId{segment->first_block.value + first}, last - first + 1}, manager);
  return {};
}

void JobSegments::compare_with_rank_0(const vm::Segment& segment) {
  const BarrierPayload own = payload_of(segment);
  BarrierPayload first = own;
  synchronization_.barrier(first);
  if (first == own) return;
  const std::string here = "rank " + std::to_string(job_.self.value) + " asks for shared memory of " +
                           std::to_string(segment.bytes) + " bytes in blocks of " +
                           std::to_string(segment.block_bytes) + ", ";
  const std::string there = first[0] != mark_of_segments
                                ? "rank 0 is in another collective call"
                                : "rank 0 for " + std::to_string(first[1]) + " bytes in blocks of " +
                                      std::to_string(first[2]) + " or with other attributes";
  job_.abort(1, here + there + ": every rank makes the same collective calls in the same order");
}

// The first barrier compares the requests; after the second every rank has the segment, so no rank receives a
// message about a block that it does not know.
Result<const vm::Segment*> JobSegments::add(const SegmentRequest& request) {
  const vm::Segment wanted = segment_for(request);
  compare_with_rank_0(wanted);
  if (!std::has_single_bit(wanted.block_bytes) || wanted.block_bytes < os::page_bytes() ||
      wanted.block_bytes > added_block_bytes_max)
    return Error{"a block is a power of two from " + std::to_string(os::page_bytes()) + " to " +
                 std::to_string(added_block_bytes_max) + " bytes"};
  const std::uintptr_t end = job_.plan.added_base + job_.plan.added_bytes;
  const std::uint64_t padded = round_up(wanted.bytes, wanted.block_bytes);
  if (request.bytes == 0 || request.bytes > job_.plan.added_bytes || wanted.base > end ||
      padded > end - wanted.base || job_.plan.space.segments().size() == vm::Space::segments_max)
    return Error{"no addresses are left for shared memory of " + std::to_string(request.bytes) +
                 " bytes: raise segments_bytes (--set)"};
  const vm::Segment& added = job_.plan.space.add(wanted);
  const std::size_t index = job_.plan.space.index_of(added);
  next_.store(wanted.base + padded);
  Result<void> mapped = devices_.vm().map_segment(index, vm::Placement::fresh);
  if (mapped && job_.one_memory) mapped = devices_.leave_open(index);
  if (!mapped) job_.abort(1, mapped.error().message);
  BarrierPayload nothing{};
  synchronization_.barrier(nothing);
  return &added;
}

}  // namespace musubi::runtime
