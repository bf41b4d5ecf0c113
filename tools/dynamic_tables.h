// The tables of a program or library that its dynamic linker reads.
#pragma once

#include <elf.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf_file.h"
#include "mapped_file.h"

namespace musubi::tools {

// REQUIRES: `file` outlives it.
class DynamicTables {
 public:
  DynamicTables(const MappedFile& file, std::vector<Elf64_Phdr> segments)
      : file_(file), segments_(std::move(segments)) {}

  // Fills in what the tables say. False: damaged.
  bool read(ElfFile& result);
  // After `read`: whether the file defines the symbol for other objects.
  bool exports(std::string_view name) const;

 private:
  bool defines(std::uint64_t symbol, std::string_view name) const;
  bool read_entries(const Elf64_Phdr& segment, std::vector<std::uint64_t>& needed);
  void take(const Elf64_Dyn& entry);
  void add_imports(std::uint64_t table, std::uint64_t bytes, std::vector<std::string>& names) const;
  std::vector<std::string> imports() const;
  std::string newest_c_library() const;
  std::optional<std::uint64_t> offset_of(std::uint64_t address) const;
  std::optional<std::string> string(std::uint64_t index) const;

  const MappedFile& file_;
  const std::vector<Elf64_Phdr> segments_;
  // Addresses; 0: there is no such table.
  std::uint64_t strings_ = 0, symbols_ = 0, hashes_ = 0, relocations_ = 0, jump_slots_ = 0, versions_ = 0;
  std::uint64_t relocation_bytes_ = 0, jump_slot_bytes_ = 0, version_files_ = 0, flags_ = 0;
};

}  // namespace musubi::tools
