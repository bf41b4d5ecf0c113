#include "runtime/own_build.h"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <string_view>

#include "runtime/waiting.h"

namespace musubi::runtime {
namespace {

constexpr std::size_t alignment = 4;  // of what stands in a note

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

std::string build_id(const char* note, const char* end) {
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const char* const name = note + sizeof header;
    const char* const content = name + aligned(header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID &&
        std::string_view(name, header.n_namesz) == std::string_view("GNU", 4)) {
      return std::string(content, header.n_descsz);
    }
    note = content + aligned(header.n_descsz);
  }
  return {};
}

}  // namespace

std::string own_build() {
  ElfW(Ehdr) file;
  std::memcpy(&file, __ehdr_start, sizeof file);
  for (unsigned i = 0; i < file.e_phnum; ++i) {
    ElfW(Phdr) part;
    std::memcpy(&part, __ehdr_start + file.e_phoff + i * sizeof part, sizeof part);
    if (part.p_type != PT_NOTE) continue;
    const char* const note = __ehdr_start + part.p_offset;  // the beginning of the file is mapped there
    if (std::string found = build_id(note, note + part.p_memsz); !found.empty()) return found;
  }
  return {};
}

}  // namespace musubi::runtime
