// What an executable file says about itself, as far as the choice of a runtime library needs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace musubi::tools {

enum class FileKind {
  dynamic_program,  // 64-bit ELF of this machine, with an interpreter
  static_program,   // the same, without one: nothing can be preloaded into it
  foreign_program,  // ELF of another machine or word size
  script,           // begins with #!
  other,
};

struct ElfFile {
  FileKind kind = FileKind::other;
  std::vector<std::string> needed;  // DT_NEEDED, in order
  std::string build_id;             // hexadecimal; empty: it has none
  bool exports_malloc = false;      // libraries, too, call its malloc
};

// Reads a file without trusting a byte of it. Errors: cannot be read, or an ELF file whose tables are
// damaged.
Result<ElfFile> read_elf_file(const std::string& path);

// Whether the text stands somewhere in the file. False when it cannot be read.
bool file_holds(const std::string& path, std::string_view text);

}  // namespace musubi::tools
