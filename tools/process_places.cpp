// A separate library: the launcher loads it, and libdw with its dependencies, only for a report.
#include <cxxabi.h>
#include <elfutils/libdwfl.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/export.h"
#include "process_places.h"

namespace musubi::tools {
namespace {

std::string hexadecimal(std::uintptr_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%#lx", static_cast<unsigned long>(value));
  return text;
}

// Other names would be demangled as types: a C function called d as "double".
std::string demangled(const char* name) {
  if (!std::string_view(name).starts_with("_Z")) return name;
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string place(const char* source, int line) {
  return std::string(file_name(source)) + ":" + std::to_string(line);
}

// File and line; empty if they are not known. gcc writes an index of the addresses of its units, and clang
// writes none: in a program of both the units of clang are found one by one.
std::string source_line(Dwfl_Module* module, std::uintptr_t address) {
  int line = 0;
  if (Dwfl_Line* const found = ::dwfl_module_getsrc(module, address)) {
    const char* const source = ::dwfl_lineinfo(found, nullptr, &line, nullptr, nullptr, nullptr);
    if (source != nullptr) return place(source, line);
  }
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; (unit = ::dwfl_module_nextcu(module, unit, &bias)) != nullptr;) {
    if (::dwarf_haspc(unit, address - bias) <= 0) continue;
    Dwarf_Line* const found = ::dwarf_getsrc_die(unit, address - bias);
    const char* const source = found != nullptr ? ::dwarf_linesrc(found, nullptr, nullptr) : nullptr;
    if (source != nullptr && ::dwarf_lineno(found, &line) == 0) return place(source, line);
  }
  return {};
}

class ProcessPlaces final : public launch::Places {
 public:
  explicit ProcessPlaces(Dwfl* library) : library_(library) {}
  ~ProcessPlaces() override { ::dwfl_end(library_); }
  ProcessPlaces(const ProcessPlaces&) = delete;
  ProcessPlaces& operator=(const ProcessPlaces&) = delete;

  std::string code(std::uintptr_t address) override {
    Dwfl_Module* const module = ::dwfl_addrmodule(library_, address);
    if (module == nullptr) return hexadecimal(address);
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* name = ::dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    const char* object =
        ::dwfl_module_info(module, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    std::string text = name != nullptr ? demangled(name) : hexadecimal(address);
    const std::string source = source_line(module, address);
    if (!source.empty()) return text + " (" + source + ")";
    if (name != nullptr) text += "+" + hexadecimal(offset);
    return object != nullptr ? text + " (" + std::string(file_name(object)) + ")" : text;
  }

  std::string data(std::uintptr_t address) override {
    Dwfl_Module* const module = object_before(address);
    if (module == nullptr) return "";
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* name = ::dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr) return "";
    return demangled(name) + (offset != 0 ? "+" + std::to_string(offset) : "");
  }

 private:
  struct Search {
    std::uintptr_t address;
    Dwfl_Module* found = nullptr;
    Dwarf_Addr low = 0;
  };
  static int look_at(Dwfl_Module* module, void**, const char* name, Dwarf_Addr low, void* given) {
    auto& search = *static_cast<Search*>(given);
    if (name != nullptr && std::string_view(name).starts_with("/memfd:")) return DWARF_CB_OK;
    if (low <= search.address && low >= search.low) {
      search.found = module;
      search.low = low;
    }
    return DWARF_CB_OK;
  }
  // The data of a program are mapped from another file than its own when they are shared.
  Dwfl_Module* object_before(std::uintptr_t address) {
    Search search{address};
    ::dwfl_getmodules(library_, &look_at, &search, 0);
    return search.found;
  }

  Dwfl* library_;
};

}  // namespace

extern "C" MUSUBI_EXPORT launch::Places* musubi_find_places(pid_t process) {
  static char* search_path = nullptr;
  static const Dwfl_Callbacks callbacks{&::dwfl_linux_proc_find_elf, &::dwfl_standard_find_debuginfo, nullptr,
                                        &search_path};
  // A report must not wait for servers of debug information. The ranks already have their environment.
  ::unsetenv("DEBUGINFOD_URLS");
  Dwfl* const library = ::dwfl_begin(&callbacks);
  if (library == nullptr) return nullptr;
  if (::dwfl_linux_proc_report(library, process) != 0 || ::dwfl_report_end(library, nullptr, nullptr) != 0) {
    ::dwfl_end(library);
    return nullptr;
  }
  return std::make_unique<ProcessPlaces>(library).release();
}

}  // namespace musubi::tools
