#include "fabric/ofi/library.h"

#include <dlfcn.h>
#include <malloc.h>

#include <cstring>

#include "os/signal_calls.h"

namespace musubi::fabric::ofi {
namespace {

constexpr const char* file_name = "libfabric.so.1";
// The version of fi_info since headers 1.5; later libraries still provide it under this name.
constexpr const char* layout_version = "FABRIC_1.3";

struct Variable {
  const char *name, *value;
};
// Set in the library's own environment unless the user has set them.
constexpr Variable variables[] = {
    {"IPATH_NO_BACKTRACE", "1"},          // else libinfinipath handles six signals
    {"HFI_NO_BACKTRACE", "1"},            // the same for libpsm2
    {"FI_MR_CACHE_MONITOR", "disabled"},  // else it watches the program's memory, by userfaultfd or patches
    {"FI_MR_CACHE_MAX_COUNT", "0"},      {"RDMAV_HUGEPAGES_SAFE", "1"},
};

Error cannot_load(const char* file) {
  const char* const problem = ::dlerror();
  return Error{std::string("cannot load ") + file + ": " + (problem == nullptr ? "unknown cause" : problem) +
               "; install libfabric 1.11 or newer (libfabric1), or leave out far_fabric=ofi"};
}

template <typename Function>
bool find_function(void* handle, const char* name, const char* version, Function& function) {
  void* const found = version == nullptr ? ::dlsym(handle, name) : ::dlvsym(handle, name, version);
  std::memcpy(static_cast<void*>(&function), static_cast<const void*>(&found), sizeof found);
  return found != nullptr;
}

// Applies to the C library of the new namespace.
bool set_up(void* c_library) {
  int (*set_variable)(const char*, const char*, int) = nullptr;
  int (*set_option)(int, int) = nullptr;
  if (!find_function(c_library, "setenv", nullptr, set_variable) ||
      !find_function(c_library, "mallopt", nullptr, set_option)) {
    return false;
  }
  for (const Variable& each : variables) set_variable(each.name, each.value, 0);
  set_option(M_ARENA_MAX, 1);  // its threads come and go
  return true;
}

}  // namespace

Result<const Library*> Library::load() {
  static const Library* loaded = nullptr;
  if (loaded != nullptr) return loaded;
  const os::SignalsKept kept;
  auto library = std::make_unique<Library>();
  if (auto found = library->find(); !found) return found.error();
  loaded = library.release();
  return loaded;
}

Result<void> Library::find() {
  constexpr const char* c_name = "libc.so.6";
  constexpr const char* table_functions[tables] = {"__ctype_b_loc", "__ctype_tolower_loc",
                                                   "__ctype_toupper_loc"};
  void* const c_library = ::dlmopen(LM_ID_NEWLM, c_name, RTLD_NOW | RTLD_LOCAL);
  Lmid_t space = 0;
  if (c_library == nullptr || ::dlinfo(c_library, RTLD_DI_LMID, &space) != 0 || !set_up(c_library)) {
    return cannot_load(c_name);
  }
  for (std::size_t i = 0; i < tables; ++i) {
    if (!find_function(c_library, table_functions[i], nullptr, table_of_thread_[i]))
      return cannot_load(c_name);
    table_[i] = *table_of_thread_[i]();  // loading the library has prepared this thread
  }
  has_entered = true;
  void* const handle = ::dlmopen(space, file_name, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return cannot_load(file_name);
  const bool all = find_function(handle, "fi_getinfo", layout_version, getinfo) &&
                   find_function(handle, "fi_freeinfo", layout_version, freeinfo) &&
                   find_function(handle, "fi_dupinfo", layout_version, dupinfo) &&
                   find_function(handle, "fi_fabric", nullptr, open_fabric) &&
                   find_function(handle, "fi_strerror", nullptr, text_of_error) &&
                   find_function(handle, "fi_version", nullptr, version);
  if (!all) return cannot_load(file_name);
  if (version() < api_version) {
    return Error{"libfabric " + version_text() +
                 " is too old; install 1.11 or newer (libfabric1), or leave out far_fabric=ofi"};
  }
  return {};
}

void Library::prepare_thread() const noexcept {
  for (std::size_t i = 0; i < tables; ++i) *table_of_thread_[i]() = table_[i];
  has_entered = true;
}

std::string Library::version_text() const {
  return std::to_string(FI_MAJOR(version())) + "." + std::to_string(FI_MINOR(version()));
}

}  // namespace musubi::fabric::ofi
