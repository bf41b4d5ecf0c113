// gas.h: copies between global pages and this process's memory.
#include "base/export.h"
#include "c_api/page_calls.h"
#include "c_api/started_calls.h"
#include "fabric/transfer.h"
#include "musubi/gas.h"

using musubi::Task;
using musubi::c_api::get_pages;
using musubi::c_api::GlobalSpace;
using musubi::c_api::PageRange;
using musubi::c_api::put_pages;
using musubi::c_api::refuse_page_call;
using musubi::c_api::start_page_call;
using musubi::global_pages::Access;
using musubi::global_pages::Page;
using musubi::global_pages::Where;

namespace {

// Calls copy(range, bytes of `local`) for each item. All items are in range, or none is touched.
template <class Byte, class PlaceOf, class Copy>
int copy_items(const char* call, gas_address address, Byte* local, std::size_t item_bytes, std::size_t count,
               PlaceOf place_of, Copy copy) {
  if (!start_page_call(call)) return -1;
  const auto item = [&](std::size_t i) { return address + static_cast<std::uint64_t>(place_of(i)); };
  for (std::size_t i = 0; i < count; ++i) {
    if (start_page_call(call, item(i), item_bytes, local).space == nullptr) return -1;
  }
  for (std::size_t i = 0; i < count; ++i) {
    copy(start_page_call(call, item(i), item_bytes), local + i * item_bytes);
  }
  return 0;
}

template <class PlaceOf>
int get_items(const char* call, gas_address address, void* local, std::size_t item_bytes, std::size_t count,
              PlaceOf place_of) {
  return copy_items(call, address, static_cast<std::byte*>(local), item_bytes, count, place_of, get_pages);
}

template <class PlaceOf>
int put_items(const char* call, gas_address address, const void* local, std::size_t item_bytes,
              std::size_t count, PlaceOf place_of) {
  return copy_items(call, address, static_cast<const std::byte*>(local), item_bytes, count, place_of,
                    put_pages);
}

bool is_private(const PageRange& range, const void* local) {
  const auto& memory = range.space->runtime().memory();
  const auto begin = reinterpret_cast<std::uintptr_t>(local);
  return !memory.is_shared(begin) && !memory.is_shared(begin + range.bytes - 1);
}

// Through the fabric alone, as a task that touches private memory only.
Task<> copy_range(PageRange range, std::byte* local, Access access) {
  GlobalSpace& space = *range.space;
  for (std::uint64_t done = 0; done < range.bytes;) {
    const Page page = range.allocation->page_at(range.address + done);
    const std::uint64_t offset = range.address + done - page.key;
    const std::uint64_t part = std::min(range.bytes - done, page.bytes - offset);
    const Where where = co_await space.pages().begin(page, access);
    const musubi::fabric::RegionId region = musubi::runtime::GlobalMemory::region;
    const std::uint64_t place = where.place() + offset;
    const musubi::fabric::Step step = access == Access::read
                                          ? musubi::fabric::get(region, place, local + done, part)
                                          : musubi::fabric::put(region, place, local + done, part);
    co_await musubi::fabric::transfer(space.fabric(), where.owner(), std::span{&step, 1});
    space.pages().end(page.key, access, where);
    done += part;
  }
}

}  // namespace

MUSUBI_EXPORT int gas_get(gas_address address, void* local, size_t bytes) {
  const PageRange range = start_page_call("gas_get", address, bytes, local);
  if (range.space == nullptr) return -1;
  get_pages(range, local);
  return 0;
}

MUSUBI_EXPORT int gas_put(gas_address address, const void* local, size_t bytes) {
  const PageRange range = start_page_call("gas_put", address, bytes, local);
  if (range.space == nullptr) return -1;
  put_pages(range, local);
  return 0;
}

MUSUBI_EXPORT int gas_get_strided(gas_address address, ptrdiff_t stride, void* local, size_t item_bytes,
                                  size_t count) {
  return get_items("gas_get_strided", address, local, item_bytes, count,
                   [stride](std::size_t i) { return static_cast<std::ptrdiff_t>(i) * stride; });
}

MUSUBI_EXPORT int gas_put_strided(gas_address address, ptrdiff_t stride, const void* local, size_t item_bytes,
                                  size_t count) {
  return put_items("gas_put_strided", address, local, item_bytes, count,
                   [stride](std::size_t i) { return static_cast<std::ptrdiff_t>(i) * stride; });
}

MUSUBI_EXPORT int gas_get_indexed(gas_address address, const ptrdiff_t* places, void* local,
                                  size_t item_bytes, size_t count) {
  if (!start_page_call("gas_get_indexed")) return -1;
  if (places == nullptr && count != 0) return refuse_page_call("gas_get_indexed", GAS_POINTER);
  return get_items("gas_get_indexed", address, local, item_bytes, count,
                   [places](std::size_t i) { return places[i]; });
}

MUSUBI_EXPORT int gas_put_indexed(gas_address address, const ptrdiff_t* places, const void* local,
                                  size_t item_bytes, size_t count) {
  if (!start_page_call("gas_put_indexed")) return -1;
  if (places == nullptr && count != 0) return refuse_page_call("gas_put_indexed", GAS_POINTER);
  return put_items("gas_put_indexed", address, local, item_bytes, count,
                   [places](std::size_t i) { return places[i]; });
}

MUSUBI_EXPORT long gas_get_begin(gas_address address, void* local, size_t bytes) {
  const PageRange range = start_page_call("gas_get_begin", address, bytes, local);
  if (range.space == nullptr) return -1;
  if (bytes == 0) return 0;
  if (range.shared() == nullptr && is_private(range, local))
    return musubi::c_api::start_call(range.space->executor(),
                                     copy_range(range, static_cast<std::byte*>(local), Access::read));
  get_pages(range, local);
  return 0;
}

MUSUBI_EXPORT long gas_put_begin(gas_address address, const void* local, size_t bytes) {
  const PageRange range = start_page_call("gas_put_begin", address, bytes, local);
  if (range.space == nullptr) return -1;
  if (bytes == 0) return 0;
  auto* const from = static_cast<std::byte*>(const_cast<void*>(local));
  if (range.shared() == nullptr && is_private(range, local))
    return musubi::c_api::start_call(range.space->executor(), copy_range(range, from, Access::write));
  put_pages(range, local);
  return 0;
}
