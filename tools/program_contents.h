// What is linked into a program and cannot be served in a job of several processes.
#pragma once

#include <string>

#include "base/result.h"
#include "elf_file.h"

namespace musubi::tools {

// Errors: the program holds an OpenMP runtime, which cannot be replaced there, or has a sanitizer, which lays
// out the memory of its process itself; names it and says what to do. `file` is what read_elf_file says of
// the program.
Result<void> check_contents(const std::string& program, const ElfFile& file);

}  // namespace musubi::tools
