#include "c_api/page_calls.h"

#include <cstring>

#include "c_api/job.h"
#include "musubi/gas.h"

namespace musubi::c_api {
namespace {

using global_pages::Access;
using global_pages::Where;

constinit thread_local int last_error = GAS_OK;

}  // namespace

int refuse_page_call(const char* call, int error) {
  last_error = error;
  explain_call(call, gas_error_text(error));
  return -1;
}

int last_page_error() noexcept {
  return last_error;
}

bool start_page_call(const char* call) {
  last_error = GAS_OK;
  if (current_job() != nullptr) return true;
  refuse_page_call(call, GAS_STATE);
  return false;
}

PageRange start_page_call(const char* call, std::uint64_t address, std::uint64_t bytes) {
  if (!start_page_call(call)) return {};
  GlobalSpace* const space = current_space();
  PageAllocation* const found = space == nullptr ? nullptr : space->allocations().find(address, bytes);
  if (found != nullptr) return {space, found, address, bytes};
  refuse_page_call(call, GAS_RANGE);
  return {};
}

PageRange start_page_call(const char* call, std::uint64_t address, std::uint64_t bytes, const void* local) {
  const PageRange range = start_page_call(call, address, bytes);
  if (range.space == nullptr || local != nullptr || bytes == 0) return range;
  refuse_page_call(call, GAS_POINTER);
  return {};
}

void get_pages(const PageRange& range, void* local) {
  if (const std::byte* const shared = range.shared()) {
    std::memcpy(local, shared, range.bytes);
    return;
  }
  auto* const into = static_cast<std::byte*>(local);
  GlobalSpace& space = *range.space;
  space.for_each_part(*range.allocation, range.address, range.bytes, Access::read,
                      [&](Where where, std::uint64_t offset, std::uint64_t bytes, std::uint64_t done) {
                        space.transfer().get(where.owner(), where.place() + offset, into + done, bytes);
                      });
}

void put_pages(const PageRange& range, const void* local) {
  if (std::byte* const shared = range.shared()) {
    std::memcpy(shared, local, range.bytes);
    return;
  }
  const auto* const from = static_cast<const std::byte*>(local);
  GlobalSpace& space = *range.space;
  space.for_each_part(*range.allocation, range.address, range.bytes, Access::write,
                      [&](Where where, std::uint64_t offset, std::uint64_t bytes, std::uint64_t done) {
                        space.transfer().put(where.owner(), where.place() + offset, from + done, bytes);
                      });
}

}  // namespace musubi::c_api
