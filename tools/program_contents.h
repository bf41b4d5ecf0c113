// Parts linked into a program that a job of several processes cannot serve.
#pragma once

#include <string>

#include "base/result.h"
#include "elf_file.h"

namespace musubi::tools {

// Errors: the program contains an OpenMP runtime, which cannot be replaced there, or has a sanitizer, which
// lays out the memory of its process itself; the text names it and says what to do. `file` is the result of
// read_elf_file for the program.
Result<void> check_contents(const std::string& program, const ElfFile& file);

}  // namespace musubi::tools
