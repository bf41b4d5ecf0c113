#include "image/process/real_function.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "image/process/exported_symbol.h"

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

}  // namespace musubi::image
