// The facts that `musubi check` collects about a program without running it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "elf_file.h"

namespace musubi::tools::check {

// Of the code of one file.
struct Code {
  std::size_t atomics = 0;      // operations on memory
  std::size_t meetings = 0;     // of them, by which threads may meet
  std::size_t fences = 0;       // flushes
  std::size_t breakpoints = 0;  // of both, served by a signal each time
  std::size_t unsupported = 0;  // of a form that stays as it is
  std::size_t undecided = 0;    // bytes that may be atomics or data
  bool spin_loops = false;      // may wait for a word by loads alone
};

// The program, or a library that is loaded with it.
struct Part {
  std::string name;  // of its file
  std::string path;
  std::vector<std::string> imports;  // ascending
  bool waits = false;                // imports a function that loops which wait call
  bool is_private = false;           // each rank has static data of its own
  std::optional<Code> code;          // unknown if private, or without section headers
};

struct Facts {
  std::string path;
  FileKind kind = FileKind::other;
  std::string interpreter;                   // of a script: the program that reads it
  bool only_starts_others = false;           // a shell and the like
  bool has_ranks_of_its_own = false;         // linked with libmusubi: each rank runs main
  std::string language;                      // "C++", "Fortran"...; empty: unknown
  std::vector<std::string> compilers;        // as they have signed the file
  std::string c_library_needed;              // "2.34"; empty: any
  std::string c_library_here;                // "2.36"
  std::vector<std::string> refusals;         // of `musubi run`, each with its remedy
  std::vector<Part> parts;                   // the program first
  std::vector<std::string> missing;          // libraries that were not found
  std::vector<std::string> unserved;         // entry points of OpenMP that Musubi does not define
  std::optional<std::string> active_levels;  // OMP_MAX_ACTIVE_LEVELS or OMP_NESTED, if set
};

}  // namespace musubi::tools::check
