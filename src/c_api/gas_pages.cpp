// gas.h: owners of pages, atomic operations, and non-blocking calls.
#include <optional>
#include <utility>
#include <vector>

#include "base/export.h"
#include "base/task_group.h"
#include "c_api/page_calls.h"
#include "c_api/started_calls.h"
#include "fabric/transfer.h"
#include "musubi/gas.h"

using musubi::AtomicOperation;
using musubi::Task;
using musubi::c_api::GlobalSpace;
using musubi::c_api::PageRange;
using musubi::c_api::refuse_page_call;
using musubi::c_api::start_page_call;
using musubi::global_pages::Access;
using musubi::global_pages::Owned;
using musubi::global_pages::Page;
using musubi::global_pages::Where;
using State = musubi::runtime::StartedTasks::State;
using Kind = AtomicOperation::Kind;

namespace {

constexpr musubi::fabric::RegionId region = musubi::runtime::GlobalMemory::region;

// For one call: enough to hide the latency.
constexpr std::size_t pages_moved_at_once = 16;

Task<> own_page(PageRange range, Page page, bool* is_full) {
  const Owned owned = co_await range.space->pages().own(page);
  if (owned == Owned::no_memory) *is_full = true;
}

Task<Owned> own_ranges(std::vector<PageRange> ranges) {
  bool is_full = false;
  musubi::TaskGroup moves(pages_moved_at_once);
  for (const PageRange& range : ranges) {
    std::uint64_t at = range.address;
    while (at < range.address + range.bytes && !is_full) {
      const Page page = range.allocation->page_at(at);
      co_await moves.admit(own_page(range, page, &is_full));
      at = page.key + page.bytes;
    }
  }
  co_await moves.drain();
  if (is_full) co_return Owned::no_memory;
  co_return Owned::moved;
}

Task<> own_and_forget(PageRange range) {
  std::vector<PageRange> one(1, range);
  co_await own_ranges(std::move(one));
}

int own(const char* call, std::vector<PageRange> ranges) {
  for (const PageRange& range : ranges) {
    if (range.shared() != nullptr) return refuse_page_call(call, GAS_SHARED);
  }
  if (ranges.empty()) return 0;
  GlobalSpace& space = *ranges.front().space;
  if (space.run(own_ranges(std::move(ranges))) != Owned::no_memory) return 0;
  return refuse_page_call(call, GAS_MEMORY);
}

// By the fabric's verbs; without such a verb, by compare-and-swap until it succeeds.
Task<std::uint64_t> change_word(GlobalSpace& space, Page page, std::uint64_t offset,
                                AtomicOperation operation) {
  const Where where = co_await space.pages().begin(page, Access::write);
  const std::uint64_t place = where.place() + offset;
  const auto operand = static_cast<std::uint64_t>(operation.operand);
  std::uint64_t old = 0;
  musubi::fabric::Step step = musubi::fabric::get(region, place, &old, sizeof old);
  if (operation.kind == Kind::add) step = musubi::fabric::fetch_add(region, place, &old, operand);
  if (operation.kind == Kind::exchange) step = musubi::fabric::swap(region, place, &old, operand);
  if (operation.kind == Kind::compare_exchange) {
    step = musubi::fabric::compare_swap(region, place, &old, static_cast<std::uint64_t>(operation.compare),
                                        operand);
  }
  co_await musubi::fabric::transfer(space.fabric(), where.owner(), std::span{&step, 1});
  while (step.verb == musubi::fabric::Verb::get) {
    const std::uint64_t expected = old;
    const musubi::fabric::Step change = musubi::fabric::compare_swap(
        region, place, &old, expected, static_cast<std::uint64_t>(musubi::apply(operation, expected)));
    co_await musubi::fabric::transfer(space.fabric(), where.owner(), std::span{&change, 1});
    if (old == expected) break;
  }
  space.pages().end(page.key, Access::write, where);
  co_return old;
}

int atomic(const char* call, gas_address address, Kind kind, std::uint64_t operand, std::uint64_t* old,
           std::uint64_t expected = 0) {
  const PageRange range = start_page_call(call, address, sizeof(std::uint64_t));
  if (range.space == nullptr) return -1;
  if (address % sizeof(std::uint64_t) != 0) return refuse_page_call(call, GAS_ALIGNMENT);
  const AtomicOperation operation{kind, sizeof(std::uint64_t), operand, expected};
  std::uint64_t before = 0;
  if (std::byte* const shared = range.shared()) {
    before = static_cast<std::uint64_t>(
        range.space->runtime().synchronization().atomic(reinterpret_cast<std::uintptr_t>(shared), operation));
  } else {
    const Page page = range.allocation->page_at(address);
    before = range.space->run(change_word(*range.space, page, address - page.key, operation));
  }
  if (old != nullptr) *old = before;
  return 0;
}

}  // namespace

MUSUBI_EXPORT int gas_own(gas_address address, size_t bytes) {
  const PageRange range = start_page_call("gas_own", address, bytes);
  return range.space == nullptr ? -1 : own("gas_own", {range});
}

MUSUBI_EXPORT int gas_own_list(const gas_address* addresses, size_t count) {
  if (!start_page_call("gas_own_list")) return -1;
  if (addresses == nullptr && count != 0) return refuse_page_call("gas_own_list", GAS_POINTER);
  std::vector<PageRange> pages(count);
  for (std::size_t i = 0; i < count; ++i) {
    pages[i] = start_page_call("gas_own_list", addresses[i], 1);
    if (pages[i].space == nullptr) return -1;
  }
  return own("gas_own_list", std::move(pages));
}

MUSUBI_EXPORT int gas_where(gas_address address) {
  const PageRange range = start_page_call("gas_where", address, 1);
  if (range.space == nullptr) return -1;
  const Where where = range.space->run(range.space->pages().look(range.allocation->page_at(address)));
  return static_cast<int>(where.owner().value);
}

MUSUBI_EXPORT long gas_own_begin(gas_address address, size_t bytes) {
  const PageRange range = start_page_call("gas_own_begin", address, bytes);
  if (range.space == nullptr) return -1;
  if (range.shared() != nullptr) return refuse_page_call("gas_own_begin", GAS_SHARED);
  return musubi::c_api::start_call(range.space->executor(), own_and_forget(range));
}

MUSUBI_EXPORT int gas_wait(long handle) {
  if (!start_page_call("gas_wait")) return -1;
  const State state = musubi::c_api::wait_for_call(handle);
  return state == State::done ? 0 : refuse_page_call("gas_wait", GAS_HANDLE);
}

MUSUBI_EXPORT int gas_test(long handle) {
  if (!start_page_call("gas_test")) return -1;
  const State state = musubi::c_api::test_call(handle);
  if (state == State::unknown) return refuse_page_call("gas_test", GAS_HANDLE);
  return state == State::done ? 1 : 0;
}

MUSUBI_EXPORT int gas_fetch_add(gas_address address, uint64_t amount, uint64_t* old) {
  return atomic("gas_fetch_add", address, Kind::add, amount, old);
}
MUSUBI_EXPORT int gas_swap(gas_address address, uint64_t value, uint64_t* old) {
  return atomic("gas_swap", address, Kind::exchange, value, old);
}
MUSUBI_EXPORT int gas_compare_swap(gas_address address, uint64_t expected, uint64_t desired, uint64_t* old) {
  return atomic("gas_compare_swap", address, Kind::compare_exchange, desired, old, expected);
}
MUSUBI_EXPORT int gas_fetch_and(gas_address address, uint64_t bits, uint64_t* old) {
  return atomic("gas_fetch_and", address, Kind::bit_and, bits, old);
}
MUSUBI_EXPORT int gas_fetch_or(gas_address address, uint64_t bits, uint64_t* old) {
  return atomic("gas_fetch_or", address, Kind::bit_or, bits, old);
}
MUSUBI_EXPORT int gas_fetch_xor(gas_address address, uint64_t bits, uint64_t* old) {
  return atomic("gas_fetch_xor", address, Kind::bit_xor, bits, old);
}
