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
  foreign_program,  // ELF of another machine or word size
  script,           // begins with #!
  other,
};

struct ElfFile {
  FileKind kind = FileKind::other;
  std::vector<std::string> needed;  // DT_NEEDED, in order
  std::string build_id;             // hexadecimal; empty: it has none
  bool exports_malloc = false;      // libraries call its malloc too
};

// Reads a file without trusting a byte of it. Errors: cannot be read, or an ELF file whose tables are
// damaged.
Result<ElfFile> read_elf_file(const std::string& path);

// Whether the file contains the text. False if it cannot be read.
bool file_holds(const std::string& path, std::string_view text);

}  // namespace musubi::tools
