// The order of collective calls: finds and names processes that are in different calls, or in one call with
// different arguments.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "runtime/api/runtime.h"

namespace musubi::sms {

// Numbered after those of musubi.h.
enum class Call : std::uint32_t { startup = 100, shutdown, barrier, alloc, calloc, change_page_manager };

struct CollectiveCall {
  Call call;
  Rank manager{};              // of pages, or of the barrier
  std::uint64_t bytes = 0;     // of the memory that the call concerns
  std::uint32_t argument = 0;  // bytes of an element; the address's lower half
};

// Before the first call.
void name_mismatches(runtime::Runtime& runtime);
// Waits until all processes are in this call. Orders nothing in shared memory. Ends the job if the calls
// differ.
void compare(runtime::Runtime& runtime, const CollectiveCall& call);
// The same as a barrier of the job.
void meet(runtime::Runtime& runtime, const CollectiveCall& call);

}  // namespace musubi::sms
