// Page and table of the contract (abi.h), at their fixed addresses in this process.
#pragma once

#include "base/result.h"
#include "checks/sink.h"

namespace musubi::checks {

// Maps page and table, unless the object that musubi-cc links has mapped them at the start of the program,
// and lets entries return at once. Afterwards the table holds zeros. Once per process, on one thread. Errors:
// the addresses are in use (a sanitizer?), or refused by the kernel; other granules than those of the page.
Result<void> open_contract(unsigned granule_shift);

// From now on entries lead to `sink`, in this process alone: in a child made by fork they return at once.
// REQUIRES: open_contract(). `sink` outlives the last entry, or detach().
void attach(CheckSink& sink) noexcept;
void detach() noexcept;

}  // namespace musubi::checks
