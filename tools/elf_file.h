// Properties of an executable file that decide which runtime library it needs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace musubi::tools {

enum class FileKind {
  dynamic_program,  // 64-bit ELF of this machine, with an interpreter
  static_program,   // the same, without one: no library can be preloaded into it
  library,          // the same, to be loaded by programs
  foreign_program,  // ELF of another machine or word size
  script,           // begins with #!
  other,
};

struct ElfFile {
  FileKind kind = FileKind::other;
  std::string interpreter;           // path of the dynamic linker; empty: none
  std::vector<std::string> needed;   // DT_NEEDED, in order
  std::vector<std::string> imports;  // functions and variables of other objects, ascending, without weak ones
  std::string c_library_needed;      // oldest glibc that has all of them, "2.34"; empty: any
  std::string build_id;              // hexadecimal; empty: it has none
  bool exports_malloc = false;       // libraries call its malloc too
  bool is_movable_program = false;   // linked as a program at any address
};

// Reads a file without trusting a byte of it. Errors: cannot be read, or an ELF file whose tables are
// damaged.
Result<ElfFile> read_elf_file(const std::string& path);

// Whether the file contains the text. False if it cannot be read.
bool file_holds(const std::string& path, std::string_view text);

// The contents of an ELF file's section of that name; empty: none.
std::string section_of_file(const std::string& path, std::string_view name);

// Those of the names that the library at `path` does not define. All, if it cannot be read.
std::vector<std::string> not_defined_by(const std::string& path, const std::vector<std::string>& names);

// Whether the version of a library, as in "2.34", is older than the other one. An empty one is the oldest.
bool is_older(std::string_view version, std::string_view other);

}  // namespace musubi::tools
