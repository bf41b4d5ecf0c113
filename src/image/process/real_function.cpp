#include "image/process/real_function.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace musubi::image {

namespace {

// The C library's function, not a wrapper that may precede it (symbols/processes/library_symbols.cpp).
void* find_in_c_library(const char* name) noexcept {
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    for (const char* library : {"/libc.so", "/libdl.so"}) {
      if (std::strstr(object->l_name, library) == nullptr) continue;
      if (void* const address = exported_address(*object, name)) return address;
    }
  }
  return nullptr;
}

}  // namespace

LookUp c_library_dlsym() noexcept {
  static constinit std::atomic<LookUp> found{nullptr};
  LookUp function = found.load(std::memory_order_relaxed);
  if (function == nullptr) {
    function = reinterpret_cast<LookUp>(find_in_c_library("dlsym"));
    found.store(function, std::memory_order_relaxed);
  }
  return function;
}

void* next_definition(const char* name) noexcept {
  return c_library_dlsym()(RTLD_NEXT, name);
}

void exit_process(int status) noexcept {
  while (true) ::syscall(SYS_exit_group, status);
}

namespace {

struct Tables {
  const ElfW(Sym) * symbols = nullptr;
  const char* strings = nullptr;
  const std::uint32_t* gnu_hash = nullptr;
  const std::uint32_t* hash = nullptr;
};

Tables tables_of(const link_map& object) {
  Tables result;
  // glibc relocates the entries in place; other linkers leave the values of the file.
  const auto absolute = [&](std::uintptr_t value) {
    return value < object.l_addr ? value + object.l_addr : value;
  };
  for (const ElfW(Dyn)* entry = object.l_ld; entry->d_tag != DT_NULL; ++entry) {
    const std::uintptr_t address = absolute(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) result.symbols = reinterpret_cast<const ElfW(Sym)*>(address);
    if (entry->d_tag == DT_STRTAB) result.strings = reinterpret_cast<const char*>(address);
    if (entry->d_tag == DT_GNU_HASH) result.gnu_hash = reinterpret_cast<const std::uint32_t*>(address);
    if (entry->d_tag == DT_HASH) result.hash = reinterpret_cast<const std::uint32_t*>(address);
  }
  return result;
}

bool is_definition_of(const Tables& tables, std::uint32_t index, const char* name) {
  const ElfW(Sym)& symbol = tables.symbols[index];
  return symbol.st_shndx != SHN_UNDEF && std::strcmp(tables.strings + symbol.st_name, name) == 0;
}

// The table begins with the number of buckets, the first symbol in the table, the words of a filter, and a
// shift. The filter, the buckets, and a word for each symbol follow; the lowest bit of a word ends a chain.
const ElfW(Sym) * find_in_gnu_table(const Tables& tables, const char* name) {
  const std::uint32_t* const table = tables.gnu_hash;
  const std::uint32_t bucket_count = table[0], first = table[1], filter_words = table[2];
  if (bucket_count == 0) return nullptr;
  std::uint32_t hash = 5381;
  for (const char* at = name; *at != '\0'; ++at) hash = hash * 33 + static_cast<unsigned char>(*at);
  const std::uint32_t* const buckets = table + 4 + filter_words * (sizeof(ElfW(Addr)) / sizeof *table);
  const std::uint32_t* const chains = buckets + bucket_count;
  std::uint32_t index = buckets[hash % bucket_count];
  if (index < first) return nullptr;
  for (;; ++index) {
    const std::uint32_t word = chains[index - first];
    if ((word | 1) == (hash | 1) && is_definition_of(tables, index, name)) return &tables.symbols[index];
    if ((word & 1) != 0) return nullptr;
  }
}

const ElfW(Sym) * find_in_table(const Tables& tables, const char* name) {
  const std::uint32_t symbol_count = tables.hash[1];
  for (std::uint32_t index = 0; index < symbol_count; ++index) {
    if (is_definition_of(tables, index, name)) return &tables.symbols[index];
  }
  return nullptr;
}

}  // namespace

void* exported_address(const link_map& object, const char* name) {
  const Tables tables = tables_of(object);
  if (tables.symbols == nullptr || tables.strings == nullptr) return nullptr;
  const ElfW(Sym)* symbol = nullptr;
  if (tables.gnu_hash != nullptr) {
    symbol = find_in_gnu_table(tables, name);
  } else if (tables.hash != nullptr) {
    symbol = find_in_table(tables, name);
  }
  return symbol == nullptr ? nullptr : reinterpret_cast<void*>(object.l_addr + symbol->st_value);
}

}  // namespace musubi::image
