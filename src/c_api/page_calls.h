// The common parts of the calls of gas.h: their beginning, and their refusal.
#pragma once

#include <cstdint>

#include "c_api/global_space.h"

namespace musubi::c_api {

// A range of global addresses that a call may use; `space` is null if it is refused, with the reason
// recorded.
struct PageRange {
  GlobalSpace* space = nullptr;
  PageAllocation* allocation = nullptr;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;

  // Its address as shared memory; or null.
  std::byte* shared() const {
    std::byte* const base = allocation->shared.load(std::memory_order_acquire);
    return base == nullptr ? nullptr : base + (address - allocation->base);
  }
};

// Every call begins with one of these. Without bytes `local` is ignored.
PageRange start_page_call(const char* call, std::uint64_t address, std::uint64_t bytes);
PageRange start_page_call(const char* call, std::uint64_t address, std::uint64_t bytes, const void* local);
// Clears the recorded error. False: no job.
bool start_page_call(const char* call);

// Records the reason for this thread, and prints it if the user wants that. Result: -1.
int refuse_page_call(const char* call, int error);
int last_page_error() noexcept;

void get_pages(const PageRange& range, void* local);
void put_pages(const PageRange& range, const void* local);

}  // namespace musubi::c_api
