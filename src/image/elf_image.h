// What an ELF file that lies loaded in memory says about its static data: which pages the program writes, and
// which bytes in them belong to the dynamic linker and not to the program. The one place that walks ELF
// structures.
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

// Static data of a program or a library, ready for Runtime::start. Both lists ascend and do not overlap.
struct Globals {
  std::vector<runtime::SharedRange> shared;
  // Copies of variables that private libraries define (stdout, environ, std::cout: their values point into
  // this process's libraries) and the slots that the dynamic linker fills, as far as they lie in `shared`.
  std::vector<runtime::PrivateBytes> private_bytes;
};

// The writable segments without what becomes read-only after relocation, in whole pages. The last page of
// .bss is taken whole, nothing beyond it: the heap of brk may follow. Private to each rank stays also what is
// no segment data: thread-local storage. `is_private` says whether the library that defines a variable keeps
// it to each rank; null: all do. REQUIRES: the object has been relocated. Any thread.
using IsPrivate = std::function<bool(const char* variable)>;
Globals find_globals(const dl_phdr_info& object, const IsPrivate& is_private = nullptr);

// Whether the object calls, or takes the address of, one of these functions of other objects.
bool imports_any(const dl_phdr_info& object, std::span<const std::string_view> names);

// The note that the linker left to tell builds apart, in hexadecimal; empty without one.
std::string build_id(const dl_phdr_info& object);

}  // namespace musubi::image
