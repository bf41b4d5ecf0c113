// Parts linked into a program that a job of several processes cannot serve.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "elf_file.h"

namespace musubi::tools {

// What stands in the way, each with its remedy: the program contains an OpenMP runtime, which cannot be
// replaced there, an allocator, or a sanitizer, which lays out the memory of its process itself. Empty:
// nothing. `file` is the result of read_elf_file for the program.
std::vector<Error> problems_of_contents(const std::string& program, const ElfFile& file);

}  // namespace musubi::tools
