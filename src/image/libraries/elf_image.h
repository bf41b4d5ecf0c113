// Static data of an ELF file loaded in memory: which pages the program writes, and which bytes in them belong
// to the dynamic linker. Only this file walks ELF structures for that.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/api/runtime.h"

namespace musubi::image {

// Static data of a program or a library, as Runtime::start takes it. Both lists ascend and do not overlap.
struct Globals {
  std::vector<runtime::SharedRange> shared;
  // Bytes of `shared` that stay private: copies of variables that private libraries define (stdout, environ,
  // std::cout: their values point into this process's libraries), and slots that the dynamic linker fills.
  std::vector<runtime::PrivateBytes> private_bytes;
};

// The writable segments as whole pages, without the part that is read-only after relocation. The last page of
// .bss is included whole and no page after it: brk's heap may follow. Thread-local storage is no segment data
// and stays private. `is_private` says whether a variable belongs to a private library; null: all do.
// REQUIRES: the object has been relocated. Any thread.
using IsPrivate = std::function<bool(const char* variable)>;
Globals find_globals(const dl_phdr_info& object, const IsPrivate& is_private = nullptr);

// Whether the object calls, or takes the address of, one of these functions of other objects.
bool imports_any(const dl_phdr_info& object, std::span<const std::string_view> names);

// The linker's build id, in hexadecimal; empty if there is none.
std::string build_id(const dl_phdr_info& object);

}  // namespace musubi::image
