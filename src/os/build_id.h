// The ELF note that identifies a build.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstring>
#include <string>
#include <string_view>

namespace musubi::os {

// The build id in the notes [note, end), as bytes; empty if there is none. REQUIRES: readable.
inline std::string build_id(const char* note, const char* end) {
  constexpr std::size_t alignment = 4;  // of the parts of a note
  const auto aligned = [](std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const char* const name = note + sizeof header;
    const char* const content = name + aligned(header.n_namesz);
    if (content + header.n_descsz > end) break;
    if (header.n_type == NT_GNU_BUILD_ID &&
        std::string_view(name, header.n_namesz) == std::string_view("GNU", 4)) {
      return std::string(content, header.n_descsz);
    }
    note = content + aligned(header.n_descsz);
  }
  return {};
}

}  // namespace musubi::os
