// Defers all constructors before the first of them runs. The dynamic linker calls the resolver of an indirect
// function while it relocates this library: at that time all objects are loaded and no constructor has run.
// The resolver must not use memory allocation or most of the C library.
#include <link.h>

#include "image/libraries/held_constructors.h"

namespace {

bool begins_with(const char* name, const char* beginning) {
  while (*beginning != '\0') {
    if (*name++ != *beginning++) return false;
  }
  return true;
}

// The C library initialises itself and this library; sanitizers must run first.
bool starts_itself(const char* path) {
  const char* name = path;
  for (const char* at = path; *at != '\0'; ++at) {
    if (*at == '/') name = at + 1;
  }
  for (const char* beginning : {"libc.so", "libc-", "ld-", "libm.so", "libm-", "libpthread", "librt.so",
                                "librt-", "libdl.so", "libdl-", "libmusubi", "libgcc_s", "libasan",
                                "libhwasan", "liblsan", "libtsan", "libubsan", "linux-"}) {
    if (begins_with(name, beginning)) return true;
  }
  return false;
}

void nothing_more() {}

}  // namespace

extern "C" {
__attribute__((visibility("hidden"), used)) void (*musubi_hold_all_constructors())() {
  // The library was loaded later, by dlopen: the program has started.
  if (_r_debug.r_state != r_debug::RT_ADD) return nothing_more;
  for (link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    if (object->l_ld != nullptr && !starts_itself(object->l_name)) musubi::image::hold_constructors(*object);
  }
  return nothing_more;
}
__attribute__((visibility("hidden"), ifunc("musubi_hold_all_constructors"))) void
musubi_constructors_are_held();
// The reference that makes the dynamic linker call the resolver.
__attribute__((visibility("hidden"),
               used)) void (*const volatile musubi_constructors_anchor)() = musubi_constructors_are_held;
}
