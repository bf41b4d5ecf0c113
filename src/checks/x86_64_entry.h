// The way from compiled code into C++ and back.
#pragma once

#include <cstdint>

namespace musubi::checks {

// Whether the processor can save its vectors (XSAVE). Before the first entry is called.
bool find_vector_state() noexcept;

// The address of entry number `entry` (abi.h): a function that takes its arguments in rdi and rsi, keeps all
// registers but r11 and the flags, and calls musubi_checks_serve(entry, rdi, rsi).
std::uintptr_t address_of_entry(unsigned entry) noexcept;

extern "C" void musubi_checks_serve(std::uint64_t entry, std::uintptr_t address,
                                    std::uint64_t bytes) noexcept;

}  // namespace musubi::checks
