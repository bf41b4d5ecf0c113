// What the calls of gas.h have in common: where they begin, and how they are refused.
#pragma once

#include <cstdint>

#include "c_api/global_space.h"

namespace musubi::c_api {

// A range of global addresses that a call may use; `space` is null when it is refused, and the reason noted.
struct PageRange {
  GlobalSpace* space = nullptr;
  PageAllocation* allocation = nullptr;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;

  // Where it is shared memory, too; or null.
  std::byte* shared() const {
    std::byte* const base = allocation->shared.load(std::memory_order_acquire);
    return base == nullptr ? nullptr : base + (address - allocation->base);
  }
};

// Every call begins with one of these. `local` is not looked at if there are no bytes.
PageRange start_page_call(const char* call, std::uint64_t address, std::uint64_t bytes);
PageRange start_page_call(const char* call, std::uint64_t address, std::uint64_t bytes, const void* local);
// Notes that nothing is refused. False: there is no job.
bool start_page_call(const char* call);

// Notes the reason for this thread, and prints it if the user wants that. Result: -1.
int refuse_page_call(const char* call, int error);
int last_page_error() noexcept;

void get_pages(const PageRange& range, void* local);
void put_pages(const PageRange& range, const void* local);

}  // namespace musubi::c_api
