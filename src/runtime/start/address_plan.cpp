#include "runtime/start/address_plan.h"

#include <algorithm>
#include <string>

#include "coherence/policy.h"
#include "coherence/stacks_max.h"
#include "os/memory.h"

namespace musubi::runtime {
namespace {

// Far from the addresses where the kernel puts programs (0x55…, or 0x400000) and libraries (0x7f…) without
// randomisation.
constexpr std::uintptr_t shared_base = 0x1000'0000'0000;
constexpr std::size_t page_bytes = 4096;
// Three views of the space fit into the gaps around program and libraries.
constexpr std::size_t shared_bytes_max = std::size_t{34} << 40;
// Defaults of a rank: its heap gets heap_bytes_kept before stacks get more than their minimum, and up to
// heap_bytes_max of the rest, so that one object may be larger than a machine.
constexpr std::size_t heap_bytes_kept = std::size_t{32} << 30;
constexpr std::size_t heap_bytes_max = std::size_t{1} << 40;
// Limit for all views of all heaps: a wild pointer into a view is not reported.
constexpr std::size_t heap_views_bytes_max = std::size_t{16} << 40;
constexpr std::size_t global_bytes_max = std::size_t{16} << 30;
constexpr std::size_t added_bytes_max = std::size_t{64} << 30;
constexpr std::size_t stack_slots_kept = 33;  // before the heap may grow to heap_bytes_max
constexpr std::size_t library_span_max = std::size_t{64} << 30;
constexpr std::size_t late_library_bytes_max = std::size_t{4} << 30;
// One page, because its neighbour may be private to the library.
constexpr std::size_t library_block_bytes = page_bytes;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Address space for one rank's heap and stacks: each view contains those of all ranks. The rest of the
// processor's addresses is left to tables, libraries and the program.
std::size_t share_of_rank(const Mappers& mappers) {
  constexpr std::size_t for_views = std::size_t{100} << 40;
  return for_views / mappers.views() / mappers.ranks;
}

// A quarter of the address space beyond heap_bytes_kept, at least stack_slots_kept slots as far as half of
// the share allows, and always a slot for each thread of the team.
std::size_t stack_slots(const config::Settings& settings, const Mappers& mappers, std::size_t slot_bytes) {
  const std::size_t share = share_of_rank(mappers);
  const std::size_t needed = settings.threads_per_rank + 1;
  const std::size_t left =
      share > heap_bytes_kept && !mappers.commit_strictly ? (share - heap_bytes_kept) / 4 : 0;
  const std::size_t kept = std::min(share / 2, stack_slots_kept * slot_bytes);
  return std::max(needed, std::min(coherence::stacks_max, std::max(left, kept) / slot_bytes));
}

std::size_t heap_bytes_of_rank(const config::Settings& settings, const Mappers& mappers, std::size_t stacks) {
  if (settings.heap_bytes) return round_up(*settings.heap_bytes, settings.heap_block_bytes);
  const std::size_t share = share_of_rank(mappers);
  const std::size_t left = share > stacks ? share - stacks : 0;
  const std::size_t unit = std::max<std::size_t>(settings.heap_block_bytes, std::size_t{1} << 20);
  const std::size_t wanted = heap_views_bytes_max / mappers.views() / mappers.ranks;
  const std::size_t most =
      mappers.commit_strictly ? heap_bytes_kept : std::clamp(wanted, heap_bytes_kept, heap_bytes_max);
  return std::clamp(std::min(left, most) / unit * unit, unit, heap_bytes_max);
}

// Mapped once for each rank of the host.
std::size_t global_bytes_of_rank(const config::Settings& settings, const Mappers& mappers) {
  if (settings.global_bytes) return round_up(*settings.global_bytes, page_bytes);
  constexpr std::size_t for_mappings = std::size_t{8} << 40;
  constexpr std::size_t unit = std::size_t{1} << 20;
  const std::size_t share = for_mappings / mappers.together / unit * unit;
  return std::clamp(share, unit, global_bytes_max);
}

std::size_t bytes_to_add(const config::Settings& settings, const Mappers& mappers, bool adds_segments) {
  if (settings.segments_bytes) return round_up(*settings.segments_bytes, added_block_bytes_max);
  constexpr std::size_t for_views = std::size_t{8} << 40;
  const std::size_t share = for_views / mappers.views();
  const std::size_t bytes = std::min(added_bytes_max, share) / added_block_bytes_max * added_block_bytes_max;
  return adds_segments ? bytes : 0;
}

// `own`: the segment's own setting. Result: 0 if the unit is learned.
std::uint8_t merge_unit(const std::string& own, const std::string& of_job) {
  const std::string& word = own == "merge_unit" ? of_job : own;
  return word == "auto" ? std::uint8_t{0} : static_cast<std::uint8_t>(word[0] - '0');
}

std::size_t late_library_bytes(const Mappers& mappers) {
  constexpr std::size_t for_views = std::size_t{4} << 40;
  constexpr std::size_t unit = std::size_t{2} << 20;
  return std::min(late_library_bytes_max, for_views / mappers.views() / unit * unit);
}

void add_program(std::span<const SharedRange> globals, const config::Settings& settings, vm::Space& space) {
  for (const SharedRange& range : globals) {
    if (range.of_library) continue;
    vm::Segment segment;
    segment.name = "globals";
    segment.base = range.address;
    segment.bytes = round_up(range.bytes, page_bytes);
    segment.block_bytes = settings.globals_block_bytes;
    segment.initial_home = vm::InitialHome::one_rank;
    segment.home = Rank{0};
    segment.merge_unit = merge_unit(settings.globals_merge_unit, settings.merge_unit);
    space.add(segment);
  }
}

void add_libraries(const char* name, std::uintptr_t base, std::size_t bytes, std::uint8_t unit,
                   AddressPlan& plan) {
  if (bytes == 0) return;
  vm::Segment segment;
  segment.name = name;
  segment.base = base;
  segment.bytes = bytes;
  segment.block_bytes = library_block_bytes;
  segment.merge_unit = unit;
  segment.initial_home = vm::InitialHome::one_rank;
  segment.home = Rank{0};
  plan.parts.push_back(std::make_unique<vm::BlockSet>(bytes / library_block_bytes));
  segment.parts = plan.parts.back().get();
  plan.space.add(segment);
}

// The range from the first library's data to the end of the last one's.
void find_libraries(std::span<const SharedRange> globals, Layout& layout) {
  std::uintptr_t begin = ~std::uintptr_t{0}, end = 0;
  for (const SharedRange& range : globals) {
    if (!range.of_library) continue;
    begin = std::min(begin, range.address);
    end = std::max(end, range.address + range.bytes);
  }
  layout.libraries_base = end == 0 ? 0 : begin;
  layout.libraries_bytes = end == 0 ? 0 : end - begin;
}

// Larger than most frames, so that an overflow does not skip the guard.
std::size_t stack_guard_bytes(const config::Settings& settings) {
  constexpr std::size_t guard_bytes_max = std::size_t{8} << 20;
  const std::size_t block = settings.stack_block_bytes;
  return std::max<std::size_t>(
      block, round_up(std::min<std::size_t>(settings.stack_bytes / 8, guard_bytes_max), block));
}

}  // namespace

Mappers Mappers::on_one_host(std::uint32_t ranks) {
  return {ranks, ranks, os::commits_strictly()};
}

std::size_t stack_bytes_max(const Mappers& mappers, std::uint32_t threads_per_rank) {
  constexpr std::size_t largest_of_setting = std::size_t{64} << 30;
  return std::min(largest_of_setting, share_of_rank(mappers) / 4 / (threads_per_rank + stack_slots_kept));
}

Result<AddressPlan> AddressPlan::make(const config::Settings& settings, const Mappers& mappers,
                                      std::span<const SharedRange> globals, bool adds_segments) {
  const std::uint32_t ranks = mappers.ranks;
  AddressPlan plan{mappers, vm::Space(ranks), {}, global_bytes_of_rank(settings, mappers), 0, 0, 0, 0, {}};
  Layout& layout = plan.layout;
  layout.heap_base = shared_base;
  layout.stack_guard_bytes = stack_guard_bytes(settings);
  layout.stack_slot_bytes =
      round_up(settings.stack_bytes, settings.stack_block_bytes) + layout.stack_guard_bytes;
  layout.stack_slots_per_rank = stack_slots(settings, mappers, layout.stack_slot_bytes);
  layout.heap_bytes_per_rank =
      heap_bytes_of_rank(settings, mappers, layout.stack_slots_per_rank * layout.stack_slot_bytes);
  const unsigned __int128 heap_bytes = static_cast<unsigned __int128>(layout.heap_bytes_per_rank) * ranks;
  const unsigned __int128 stack_bytes =
      static_cast<unsigned __int128>(layout.stack_slot_bytes) * layout.stack_slots_per_rank * ranks;
  if (heap_bytes + stack_bytes + bytes_to_add(settings, mappers, adds_segments) > shared_bytes_max) {
    return Error{
        "the shared range of " + std::to_string(ranks) +
        " ranks does not fit into the address space: lower heap_bytes, stack_bytes or segments_bytes"};
  }
  layout.stacks_base =
      round_up(layout.heap_base + static_cast<std::size_t>(heap_bytes), std::size_t{1} << 30);
  layout.late_libraries_base =
      round_up(layout.stacks_base + static_cast<std::size_t>(stack_bytes), std::size_t{1} << 30);
  layout.late_libraries_bytes = ranks > 1 ? late_library_bytes(mappers) : 0;
  plan.added_base = round_up(layout.late_libraries_base + layout.late_libraries_bytes, std::size_t{1} << 30);
  plan.added_bytes = bytes_to_add(settings, mappers, adds_segments);
  find_libraries(globals, layout);
  if (layout.libraries_bytes > library_span_max) {
    return Error{
        "the program's libraries lie too far apart to share their data: load them all at their usual "
        "addresses (ulimit -s and prelinking move them)"};
  }

  vm::Segment heap;
  heap.name = "heap";
  heap.base = layout.heap_base;
  heap.bytes = static_cast<std::size_t>(heap_bytes);
  heap.block_bytes = settings.heap_block_bytes;
  heap.initial_home = vm::InitialHome::slices;
  heap.slice_bytes = layout.heap_bytes_per_rank;
  heap.huge_pages = settings.huge_pages;
  heap.merge_unit = merge_unit(settings.heap_merge_unit, settings.merge_unit);
  heap.policy = coherence::number_of(coherence::policy_named(settings.heap_policy).value());
  plan.space.add(heap);
  vm::Segment stacks = heap;
  stacks.name = "stacks";
  stacks.policy = coherence::number_of(coherence::Policy::migrating);
  stacks.base = layout.stacks_base;
  stacks.bytes = static_cast<std::size_t>(stack_bytes);
  stacks.block_bytes = settings.stack_block_bytes;
  stacks.huge_pages = false;
  stacks.holds_stacks = true;
  stacks.merge_unit = merge_unit(settings.stack_merge_unit, settings.merge_unit);
  stacks.slice_bytes = layout.stack_slot_bytes * layout.stack_slots_per_rank;
  plan.space.add(stacks);
  plan.heap_segment = 0;
  plan.stacks_segment = 1;
  add_program(globals, settings, plan.space);
  const std::uint8_t unit = merge_unit(settings.globals_merge_unit, settings.merge_unit);
  add_libraries("late libraries", layout.late_libraries_base, layout.late_libraries_bytes, unit, plan);
  add_libraries("libraries", layout.libraries_base, layout.libraries_bytes, unit, plan);
  if (plan.added_bytes != 0)
    plan.space.leave_room(plan.added_bytes / page_bytes, plan.added_bytes, added_block_bytes_max);
  return plan;
}

}  // namespace musubi::runtime
