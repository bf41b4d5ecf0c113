#include "vm/signal/code_location.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "os/symbol_table.h"

namespace musubi::vm {
namespace {

struct Function {
  const char* name = nullptr;
  std::uintptr_t offset = 0;  // of the address in the function
};

// The function (or variable, by `type`) of the table that covers `address`, relative to the file. dladdr
// knows only exported names: hardly any of a plain executable.
Function find_symbol(const os::SymbolTable& table, std::uintptr_t address, unsigned type) noexcept {
  for (const ElfW(Sym) & symbol : table.symbols()) {
    if (ELF64_ST_TYPE(symbol.st_info) != type || address - symbol.st_value >= symbol.st_size) continue;
    if (const char* const name = table.name(symbol)) return {name, address - symbol.st_value};
  }
  return {};
}

}  // namespace

bool is_code(std::uintptr_t address) noexcept {
  Dl_info information;
  return ::dladdr(reinterpret_cast<void*>(address), &information) != 0;
}

void append_code_location(CrashText& text, std::uintptr_t address) noexcept {
  Dl_info information;
  link_map* object = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(address), &information, reinterpret_cast<void**>(&object),
                RTLD_DL_LINKMAP) == 0 ||
      object == nullptr) {
    text << "no code";
    return;
  }
  const std::uintptr_t in_file = address - object->l_addr;
  const os::SymbolTable file(os::file_of_object(object->l_name));
  Function function = find_symbol(file, in_file, STT_FUNC);
  if (function.name == nullptr && information.dli_sname != nullptr) {
    function = {information.dli_sname, address - reinterpret_cast<std::uintptr_t>(information.dli_saddr)};
  }
  if (function.name != nullptr) {
    (text << function.name << "+").hexadecimal(function.offset) << " (" << information.dli_fname << ")";
  } else {
    (text << information.dli_fname << "+").hexadecimal(in_file);
  }
}

void append_variable(CrashText& text, std::uintptr_t address) noexcept {
  Dl_info information;
  link_map* object = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(address), &information, reinterpret_cast<void**>(&object),
                RTLD_DL_LINKMAP) == 0 ||
      object == nullptr) {
    text << "no variable";
    return;
  }
  const os::SymbolTable file(os::file_of_object(object->l_name));
  const std::uintptr_t in_file = address - object->l_addr;
  const Function variable = find_symbol(file, in_file, STT_OBJECT);
  (text << (variable.name != nullptr ? variable.name : information.dli_fname) << "+")
      .hexadecimal(variable.name != nullptr ? variable.offset : in_file);
}

}  // namespace musubi::vm
