#include "runtime/address_plan.h"

#include <algorithm>
#include <string>

namespace musubi::runtime {
namespace {

// Far from where the kernel puts programs (0x55…, or 0x400000) and libraries (0x7f…) without randomisation.
constexpr std::uintptr_t shared_base = 0x1000'0000'0000;
constexpr std::uintptr_t shared_end = 0x5000'0000'0000;
constexpr std::size_t stack_slots_per_rank = 256;
constexpr std::size_t page_bytes = 4096;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

Result<AddressPlan> AddressPlan::make(const config::Settings& settings, std::uint32_t ranks,
                                      std::span<const SharedRange> globals) {
  AddressPlan plan{vm::Space(ranks), {}, 0, 0, 0};
  Layout& layout = plan.layout;
  layout.heap_base = shared_base;
  layout.heap_bytes_per_rank = round_up(settings.heap_bytes, settings.heap_block_bytes);
  // The lowest block of a slot is the guard.
  layout.stack_slot_bytes =
      round_up(settings.stack_bytes, settings.stack_block_bytes) + settings.stack_block_bytes;
  layout.stack_slots_per_rank = std::max<std::size_t>(stack_slots_per_rank, settings.threads_per_rank + 1);
  const unsigned __int128 heap_bytes = static_cast<unsigned __int128>(layout.heap_bytes_per_rank) * ranks;
  const unsigned __int128 stack_bytes =
      static_cast<unsigned __int128>(layout.stack_slot_bytes) * layout.stack_slots_per_rank * ranks;
  if (heap_bytes + stack_bytes > (shared_end - shared_base) / 2) {
    return Error{"the shared range of " + std::to_string(ranks) +
                 " ranks does not fit into the address space: lower heap_bytes or stack_bytes"};
  }
  layout.stacks_base =
      round_up(layout.heap_base + static_cast<std::size_t>(heap_bytes), std::size_t{1} << 30);
  if (globals.size() + 2 > vm::Space::segment_count_max) {
    return Error{"the program has too many writable segments to share"};
  }

  vm::Segment heap;
  heap.name = "heap";
  heap.base = layout.heap_base;
  heap.bytes = static_cast<std::size_t>(heap_bytes);
  heap.block_bytes = settings.heap_block_bytes;
  heap.initial_home = vm::InitialHome::slices;
  heap.slice_bytes = layout.heap_bytes_per_rank;
  heap.huge_pages = settings.huge_pages;
  plan.space.add(heap);
  vm::Segment stacks = heap;
  stacks.name = "stacks";
  stacks.base = layout.stacks_base;
  stacks.bytes = static_cast<std::size_t>(stack_bytes);
  stacks.block_bytes = settings.stack_block_bytes;
  stacks.huge_pages = false;
  stacks.slice_bytes = layout.stack_slot_bytes * layout.stack_slots_per_rank;
  plan.space.add(stacks);
  plan.heap_segment = 0;
  plan.stacks_segment = 1;
  plan.first_globals_segment = 2;
  for (const SharedRange& range : globals) {
    vm::Segment segment;
    segment.name = "globals";
    segment.base = range.address;
    segment.bytes = round_up(range.bytes, page_bytes);
    segment.block_bytes = settings.globals_block_bytes;
    segment.initial_home = vm::InitialHome::one_rank;
    segment.home = Rank{0};
    plan.space.add(segment);
  }
  return plan;
}

}  // namespace musubi::runtime
