// gas.h: allocations, sharing, errors.
#include "musubi/gas.h"

#include <bit>

#include "base/export.h"
#include "c_api/collective_calls.h"
#include "c_api/job.h"
#include "c_api/page_calls.h"

using musubi::c_api::Call;
using musubi::c_api::current_job;
using musubi::c_api::GlobalSpace;
using musubi::c_api::meet;
using musubi::c_api::PageAllocation;
using musubi::c_api::PageAllocations;
using musubi::c_api::PageRange;
using musubi::c_api::refuse_page_call;
using musubi::c_api::start_page_call;

namespace {

constexpr std::size_t page_bytes_min = 64;
constexpr std::size_t page_bytes_max = std::size_t{16} << 20;

gas_address refuse_allocation(int error) {
  refuse_page_call("gas_alloc", error);
  return 0;
}

// The allocation that begins there; `space` is null if the call is refused.
PageRange start_whole(const char* call, gas_address address) {
  const PageRange range = start_page_call(call, address, 0);
  if (range.space == nullptr || range.allocation->base == address) return range;
  refuse_page_call(call, GAS_RANGE);
  return {};
}

}  // namespace

MUSUBI_EXPORT gas_address gas_alloc(size_t bytes, size_t page_bytes, int placement) {
  if (!start_page_call("gas_alloc")) return 0;
  musubi::runtime::Runtime& runtime = current_job()->runtime;
  meet(runtime, Call::gas_alloc, {bytes, page_bytes, static_cast<std::uint64_t>(placement)});
  if (bytes == 0 || bytes >= std::size_t{1} << PageAllocations::offset_bits)
    return refuse_allocation(GAS_RANGE);
  if (!std::has_single_bit(page_bytes) || page_bytes < page_bytes_min || page_bytes > page_bytes_max)
    return refuse_allocation(GAS_PAGE);
  if (placement < GAS_CYCLIC || placement >= static_cast<int>(runtime.ranks()))
    return refuse_allocation(GAS_PLACEMENT);
  GlobalSpace* const space = musubi::c_api::make_global_space(runtime);
  PageAllocation* const made = space == nullptr ? nullptr : space->allocate(bytes, page_bytes, placement);
  return made == nullptr ? refuse_allocation(GAS_MEMORY) : made->base;
}

MUSUBI_EXPORT int gas_free(gas_address address) {
  const PageRange range = start_whole("gas_free", address);
  if (range.space == nullptr) return -1;
  meet(range.space->runtime(), Call::gas_free, {address});
  range.space->free(*range.allocation);
  return 0;
}

MUSUBI_EXPORT int gas_share(gas_address address, void** memory) {
  const PageRange range = start_whole("gas_share", address);
  if (range.space == nullptr) return -1;
  if (memory == nullptr) return refuse_page_call("gas_share", GAS_POINTER);
  if (range.shared() != nullptr) return refuse_page_call("gas_share", GAS_SHARED);
  meet(range.space->runtime(), Call::gas_share, {address});
  if (!range.space->share(*range.allocation)) return refuse_page_call("gas_share", GAS_MEMORY);
  *memory = range.shared();
  return 0;
}

MUSUBI_EXPORT int gas_unshare(gas_address address) {
  const PageRange range = start_whole("gas_unshare", address);
  if (range.space == nullptr) return -1;
  if (range.shared() == nullptr) return refuse_page_call("gas_unshare", GAS_SHARED);
  meet(range.space->runtime(), Call::gas_unshare, {address});
  range.space->unshare(*range.allocation);
  return 0;
}

MUSUBI_EXPORT int gas_error(void) {
  return musubi::c_api::last_page_error();
}

MUSUBI_EXPORT const char* gas_error_text(int error) {
  switch (error) {
    case GAS_OK:
      return "no error";
    case GAS_STATE:
      return "no job: call between musubi_init and musubi_finalize";
    case GAS_RANGE:
      return "not inside one allocation: allocations begin where gas_alloc says, and end with gas_free";
    case GAS_POINTER:
      return "a null pointer for bytes that are to be copied";
    case GAS_MEMORY:
      return "no memory for pages is left there: free some, or raise global_bytes (--set)";
    case GAS_PAGE:
      return "a page is a power of two, from 64 bytes to 16 MiB";
    case GAS_PLACEMENT:
      return "no such placement: GAS_BLOCK, GAS_CYCLIC, or a rank from 0 to musubi_size() - 1";
    case GAS_ALIGNMENT:
      return "atomic operations want a multiple of 8";
    case GAS_HANDLE:
      return "no call that this thread has begun and not yet found complete";
    case GAS_SHARED:
      return "these pages are shared memory now (gas_share), or are not (gas_unshare)";
    default:
      return "no error of global pages";
  }
}
