// The name of a location in the program's code, found inside a signal handler.
#pragma once

#include <cstdint>

#include "vm/signal/crash_text.h"

namespace musubi::vm {

// Appends "function+0x12 (object)", or "object+0x1234" if no symbol covers the address (as addr2line takes
// it), or "no code". Reads the symbol table from the object's file. No malloc; takes the dynamic linker's
// lock.
void append_code_location(CrashText& text, std::uintptr_t address) noexcept;

// Appends "variable+0x12", or "object+0x1234" if no symbol covers the address. As above.
void append_variable(CrashText& text, std::uintptr_t address) noexcept;

// Whether a loaded object covers the address.
bool is_code(std::uintptr_t address) noexcept;

}  // namespace musubi::vm
