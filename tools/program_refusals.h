// The reasons for which a job of several processes cannot have a program. `musubi run` prints the first one,
// `musubi check` all of them, so the two never disagree.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "elf_file.h"
#include "program_file.h"

namespace musubi::tools {

// In the order of their weight, each with its remedy; empty: the program can be part of a job. `program`: the
// path of a file that may be executed; `file`: the result of read_elf_file for it. With `always`, only what
// keeps every library from being loaded with the program; with `never`, nothing.
std::vector<Error> refusals_of(const std::string& program, const ElfFile& file, Preload preload);

}  // namespace musubi::tools
