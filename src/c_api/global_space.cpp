#include "c_api/global_space.h"

#include <cstring>

#include "base/check.h"
#include "c_api/collective_calls.h"
#include "c_api/job.h"
#include "global_pages/directory.h"
#include "musubi/gas.h"

namespace musubi::c_api {
namespace {

using global_pages::Access;
using global_pages::Entry;
using global_pages::Page;
using global_pages::Slot;
using global_pages::Where;

constinit std::atomic<GlobalSpace*> space_of_process{nullptr};

global_pages::SlotPlace slot_place(runtime::Runtime& runtime, const GlobalSpace::Place& place) {
  runtime::GlobalMemory& memory = runtime.global_memory();
  return {runtime::GlobalMemory::region, place.slots_at,
          reinterpret_cast<Slot*>(memory.own() + place.slots_at), place.slots,
          memory.fabric().capabilities(runtime.self()).cpu_atomics_coherent};
}

std::unique_ptr<global_pages::Directory> make_directory(runtime::Runtime& runtime,
                                                        global_pages::HomeCalls& calls) {
  if (runtime.settings().gas_directory == "home")
    return std::make_unique<global_pages::HomeDirectory>(calls, runtime.ranks());
  return std::make_unique<global_pages::OneSidedDirectory>(runtime.global_memory().fabric(),
                                                           runtime::GlobalMemory::region, Hooks{});
}

std::uint64_t in_pages(std::uint64_t bytes) {
  return global_heap::round_up(bytes, global_heap::page_bytes);
}

// Memory that was never used is zero, and takes none until it is written.
void clear(std::byte* bytes, std::uint64_t count) {
  const bool is_zero = bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, count - 1) == 0;
  if (!is_zero) std::memset(bytes, 0, count);
}

}  // namespace

GlobalSpace::GlobalSpace(runtime::Runtime& runtime, const Place& place)
    : runtime_(runtime),
      frames_(runtime, place.frames_at, place.frames_bytes),
      slots_(fabric(), slot_place(runtime, place), Hooks{}),
      home_(runtime.ranks(), runtime.global_memory().own(), Hooks{}),
      home_calls_(runtime),
      directory_(make_directory(runtime, home_calls_)),
      relocation_(fabric(), slots_, *directory_, runtime::GlobalMemory::region, runtime.global_memory().own(),
                  Hooks{}),
      pages_(fabric(), slots_, *directory_, relocation_, frames_),
      transfer_(runtime),
      frames_bytes_(place.frames_bytes),
      next_entry_(place.entries_at),
      entries_end_(place.entries_at + place.entries_bytes) {}

// For each page whose home is this rank: allocates its first bytes, at this rank, and sets its entry.
Task<bool> GlobalSpace::place_pages(PageAllocation& allocation) {
  for (std::uint64_t i = 0; i < allocation.pages(); ++i) {
    if (allocation.home_of(i) != runtime_.self()) continue;
    const std::optional<std::uint64_t> frame = co_await frames_.take(allocation.page_bytes);
    if (!frame) {
      co_await give_back_pages(allocation, i);
      co_return false;
    }
    clear(runtime_.global_memory().own() + *frame, allocation.page_bytes);
    entry_of(allocation.page(i)).where = Where::of(runtime_.self(), *frame, 0);
  }
  co_return true;
}

// Frees the first `pages` pages, as far as their home is this rank.
Task<> GlobalSpace::give_back_pages(PageAllocation& allocation, std::uint64_t pages) {
  for (std::uint64_t i = 0; i < pages; ++i) {
    if (allocation.home_of(i) != runtime_.self()) continue;
    Entry& entry = entry_of(allocation.page(i));
    co_await frames_.give_back(entry.where.owner(), entry.where.place(), allocation.page_bytes);
    std::memset(reinterpret_cast<std::byte*>(&entry), 0, Entry::bytes_for(runtime_.ranks()));
  }
}

// Reuses the entries of a freed allocation, if one had as many.
bool GlobalSpace::take_entries(PageAllocation& allocation) {
  const std::uint64_t count = allocation.pages_of_home();
  std::vector<std::uint64_t>& free = free_entries_[count];
  if (!free.empty()) {
    allocation.entries_at = free.back();
    free.pop_back();
    return true;
  }
  const std::uint64_t entry_bytes = Entry::bytes_for(allocation.ranks);
  if (count > (entries_end_ - next_entry_) / entry_bytes) return false;
  allocation.entries_at = next_entry_;
  next_entry_ += count * entry_bytes;
  return true;
}

PageAllocation* GlobalSpace::allocate(std::uint64_t bytes, std::uint64_t page_bytes, int placement) {
  PageAllocation* const made = allocations_.add();
  if (made == nullptr) return nullptr;
  made->bytes = bytes;
  made->page_bytes = page_bytes;
  made->placement = placement;
  made->ranks = runtime_.ranks();
  const bool has_room = made->pages_of_home() <= frames_bytes_ / page_bytes;
  const bool has_entries = has_room && take_entries(*made);  // the same at every rank
  const bool is_placed = has_entries && run(place_pages(*made));
  if (holds_everywhere(runtime_, Call::gas_alloc, is_placed)) return made;
  if (has_entries) free_entries_[made->pages_of_home()].push_back(made->entries_at);
  if (is_placed) run(give_back_pages(*made, made->pages()));
  allocations_.remove(*made);
  return nullptr;
}

void GlobalSpace::free(PageAllocation& allocation) {
  allocations_.remove(allocation);
  run(give_back_pages(allocation, allocation.pages()));
  free_entries_[allocation.pages_of_home()].push_back(allocation.entries_at);
  if (allocation.segment != nullptr) free_segments_.emplace(allocation.segment_bytes, allocation.segment);
}

// Reuses the segment of a freed allocation, if it is large enough. All ranks have the same.
bool GlobalSpace::take_segment(PageAllocation& allocation) {
  if (const auto found = free_segments_.lower_bound(allocation.bytes); found != free_segments_.end()) {
    allocation.segment_bytes = found->first;
    allocation.segment = found->second;
    free_segments_.erase(found);
    return true;
  }
  runtime::SegmentRequest request;
  request.bytes = allocation.bytes;
  auto added = runtime_.segments().add(request);
  if (!added) return false;
  allocation.segment_bytes = added.value()->bytes;
  allocation.segment = reinterpret_cast<std::byte*>(added.value()->base);
  return true;
}

void GlobalSpace::copy_own_pages(PageAllocation& allocation, bool to_shared) {
  for (std::uint64_t i = 0; i < allocation.pages(); ++i) {
    const Page page = allocation.page(i);
    const Where where = run(pages_.look(page));
    if (where.owner() != runtime_.self()) continue;
    std::byte* const bytes = runtime_.global_memory().own() + where.place();
    std::byte* const shared = allocation.segment + i * page.bytes;
    const std::uint64_t count = std::min(page.bytes, allocation.bytes - i * page.bytes);
    std::memcpy(to_shared ? shared : bytes, to_shared ? bytes : shared, count);
  }
}

bool GlobalSpace::share(PageAllocation& allocation) {
  if (allocation.segment == nullptr && !take_segment(allocation)) return false;
  copy_own_pages(allocation, true);
  meet(runtime_, Call::gas_share);
  allocation.shared.store(allocation.segment);
  return true;
}

void GlobalSpace::unshare(PageAllocation& allocation) {
  allocation.shared.store(nullptr);
  copy_own_pages(allocation, false);
  meet(runtime_, Call::gas_unshare);
}

GlobalSpace* current_space() noexcept {
  return current_job() == nullptr ? nullptr : space_of_process.load(std::memory_order_acquire);
}

// Half of the remaining memory for bytes of pages, an eighth of that for the directory.
GlobalSpace* make_global_space(runtime::Runtime& runtime) {
  if (GlobalSpace* const made = space_of_process.load()) return made;
  runtime::GlobalMemory& memory = runtime.global_memory();
  GlobalSpace::Place place{};
  place.slots = runtime.settings().gas_known_pages;
  place.frames_bytes = memory.bytes() * 3 / 8;
  place.entries_bytes = memory.bytes() / 32;
  const std::uint64_t entries_from = in_pages(place.slots * sizeof(Slot));
  const std::uint64_t frames_from = entries_from + in_pages(place.entries_bytes);
  place.slots_at = memory.take(frames_from + place.frames_bytes);  // all or nothing
  if (place.slots_at == memory.bytes()) return nullptr;
  place.entries_at = place.slots_at + entries_from;
  place.frames_at = place.slots_at + frames_from;
  space_of_process.store(new GlobalSpace(runtime, place), std::memory_order_release);
  meet(runtime, Call::gas_alloc);  // every rank's heap is open
  return space_of_process.load();
}

PageFrames::PageFrames(runtime::Runtime& runtime, std::uint64_t begin, std::uint64_t bytes)
    : runtime_(runtime),
      layout_(runtime::GlobalMemory::region, begin, bytes),
      heap_(runtime, layout_, {}, false),
      cache_(runtime.ranks()) {
  heap_.open(0);  // it grows
}

Task<std::optional<std::uint64_t>> PageFrames::take(std::uint64_t bytes) {
  auto pass = co_await gate_.enter();
  std::optional<std::uint64_t> offset = heap_.objects.allocate_at_once(cache_, runtime_.self(), bytes);
  if (!offset) offset = co_await heap_.objects.allocate(cache_, runtime_.self(), bytes);
  if (!offset) co_return std::nullopt;
  co_return layout_.data_at(*offset);
}

Task<> PageFrames::give_back(Rank owner, std::uint64_t place, std::uint64_t) {
  auto pass = co_await gate_.enter();
  const std::uint64_t offset = place - layout_.data_at(0);
  std::optional<global_heap::Freed> freed = heap_.objects.free_at_once(cache_, owner, offset);
  if (!freed) freed = co_await heap_.objects.free(cache_, owner, offset);
  MUSUBI_CHECK(*freed == global_heap::Freed::done, "the bytes of a page at rank %u were no object",
               owner.value);
}

runtime::Answer PageHome::run(Rank caller, std::span<const std::byte> request,
                              std::span<std::byte> reply) noexcept {
  GlobalSpace* const space = current_space();
  MUSUBI_CHECK(space != nullptr);
  return {0, space->home().serve(caller, request, reply)};
}

Task<std::size_t> PageHomeCalls::ask(Rank home, std::span<const std::byte> question,
                                     std::span<std::byte> answer) {
  const runtime::Answer answered =
      co_await runtime_.remote_calls().ask(home, page_home_procedure, question, answer);
  co_return answered.bytes;
}

}  // namespace musubi::c_api
