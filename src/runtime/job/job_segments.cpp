#include "runtime/job/job_segments.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "checks/notes.h"
#include "coherence/policy.h"
#include "os/memory.h"

namespace musubi::runtime {
namespace {

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Marks the payload of this call: a rank at another call gets rank 0's payload without the mark.
constexpr std::uint64_t mark_of_segments = 0x5e67, mark_of_homes = 0x403e;

BarrierPayload payload_of(const vm::Segment& segment) {
  return {mark_of_segments,
          segment.bytes,
          segment.block_bytes,
          segment.slice_bytes,
          std::uint64_t{segment.element_bytes} << 32 | segment.home.value,
          std::uint64_t{segment.home_only} << 25 | std::uint64_t{segment.unprotected} << 24 |
              static_cast<std::uint64_t>(segment.initial_home) << 16 | std::uint64_t{segment.policy} << 8 |
              segment.merge_unit};
}

// The blocks with a byte of the range, which lies in the segment and is not empty.
vm::BlockRun blocks_of(const vm::Segment& segment, std::uintptr_t begin, std::size_t bytes) {
  const std::uint64_t first = (begin - segment.base) / segment.block_bytes;
  const std::uint64_t last = (begin + bytes - 1 - segment.base) / segment.block_bytes;
  return {BlockId{segment.first_block.value + first}, last - first + 1};
}

}  // namespace

std::size_t JobSegments::block_bytes_of(const SegmentRequest& request) const noexcept {
  return request.block_bytes != 0 ? request.block_bytes : job_.settings.heap_block_bytes;
}

// An unused page precedes each segment and catches overruns of the one before it.
vm::Segment JobSegments::segment_for(const SegmentRequest& request) const {
  const std::size_t page = os::page_bytes();
  vm::Segment segment;
  segment.name = "added";
  segment.bytes = round_up(request.bytes, page);
  segment.block_bytes = block_bytes_of(request);
  segment.unprotected = request.unprotected && !job_.one_memory;
  segment.home_only = request.home_only && segment.unprotected;
  if (job_.one_memory) segment.block_bytes = std::max(segment.block_bytes, page);
  segment.base = round_up(next_.load() + page, std::max(segment.block_bytes, page));
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
  page_managers_->change_manager(blocks_of(*segment, begin, bytes), manager);
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

Result<void> JobSegments::may_be_unprotected(const SegmentRequest& request) const {
  constexpr const char* whose = "memory whose accesses are checked by code ";
  if (request.policy != coherence::Policy::home_based)
    return Error{std::string(whose) + "has the policy home_based, and not " +
                 std::string(coherence::policy_list[coherence::number_of(request.policy)].name)};
  if (job_.one_memory) return {};
  if (job_.settings.checks != "on")
    return Error{std::string(whose) + "wants the setting checks=on, and not checks=" + job_.settings.checks +
                 ": let pages protect it"};
  // Objects that were opened later have no table.
  const bool has_table = devices_.checked_vm() != nullptr;
  const auto objects = has_table ? checks::checked_objects() : std::vector<checks::CheckedObject>();
  if (auto all = checks::check_all_accesses(objects); !all)
    return Error{std::string(whose) + "is for programs that check all of them: " + all.error().message +
                 ", or let pages protect it"};
  const std::size_t granule = std::size_t{1} << objects.front().note.granule_shift;
  const std::size_t block = block_bytes_of(request);
  if (block >= granule) return {};
  return Error{std::string(whose) + "has blocks of at least the " + std::to_string(granule) +
               " bytes of a granule of " + objects.front().name + ", and not of " + std::to_string(block) +
               ": choose larger blocks, or smaller granules"};
}

// The numbers of blocks that a job may add are as many as pages; smaller blocks may use them up.
Result<void> JobSegments::fits(const vm::Segment& wanted, const SegmentRequest& request) const {
  const vm::Space& space = job_.plan.space;
  const std::size_t least = request.unprotected ? unprotected_block_bytes_min : os::page_bytes();
  const std::size_t block = block_bytes_of(request);
  if (!std::has_single_bit(block) || block < least || block > added_block_bytes_max)
    return Error{"a block is a power of two from " + std::to_string(least) + " to " +
                 std::to_string(added_block_bytes_max) + " bytes"};
  if (request.unprotected) {
    if (auto may = may_be_unprotected(request); !may) return may;
  }
  const std::uintptr_t end = job_.plan.added_base + job_.plan.added_bytes;
  const std::uint64_t padded = round_up(wanted.bytes, wanted.block_bytes);
  if (request.bytes == 0 || request.bytes > job_.plan.added_bytes || wanted.base > end ||
      padded > end - wanted.base || padded / wanted.block_bytes > space.blocks_max() - space.blocks() ||
      space.segments().size() == vm::Space::segments_max)
    return Error{"no addresses are left for shared memory of " + std::to_string(request.bytes) +
                 " bytes: raise segments_bytes (--set)"};
  return {};
}

// The first barrier compares the requests; after the second every rank has the segment, so no rank receives a
// message about a block that it does not know.
Result<const vm::Segment*> JobSegments::add(const SegmentRequest& request) {
  const vm::Segment wanted = segment_for(request);
  compare_with_rank_0(wanted);
  if (auto fitting = fits(wanted, request); !fitting) return fitting.error();
  const vm::Segment& added = job_.plan.space.add(wanted);
  const std::size_t index = job_.plan.space.index_of(added);
  next_.store(wanted.base + round_up(wanted.bytes, wanted.block_bytes));
  Result<void> mapped = devices_.vm().map_segment(index, vm::Placement::fresh);
  if (mapped && job_.one_memory) mapped = devices_.leave_open(index);
  if (added.unprotected) devices_.checked_vm()->cover(added);
  if (!mapped) job_.abort(1, mapped.error().message);
  meet();
  return &added;
}

void JobSegments::meet() {
  BarrierPayload nothing{};
  synchronization_.barrier(nothing);
}

Result<void> JobSegments::set_home(const void* address, std::size_t bytes, Rank home) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const BarrierPayload own{mark_of_homes, begin, bytes, home.value};
  BarrierPayload first = own;
  synchronization_.barrier(first);
  if (first != own)
    job_.abort(1, "rank " + std::to_string(job_.self.value) +
                      " sets the home of other memory than rank 0, or rank 0 is in another collective call: "
                      "every rank makes the same collective calls in the same order");
  if (home.value >= job_.ranks)
    return Error{"rank " + std::to_string(home.value) + " cannot be a home: the job has " +
                 std::to_string(job_.ranks) + " ranks"};
  const vm::Segment* const segment = job_.plan.space.segment_at(begin);
  const bool is_inside = segment != nullptr && begin >= job_.plan.added_base &&
                         segment->policy != number_of(coherence::Policy::entry) &&
                         bytes <= segment->base + segment->bytes - begin;
  if (!is_inside) return Error{"homes are set in memory that was added, of another policy than entry"};
  if (bytes == 0 || job_.one_memory) return {};
  const vm::BlockRun run = blocks_of(*segment, begin, bytes);
  if (home == job_.self) threads_.executor().run(protocol_.take_home(run));
  meet();
  threads_.executor().run(protocol_.set_home(run, home));
  meet();
  return {};
}

}  // namespace musubi::runtime
