// Ways to load a library that a job of several ranks refuses: null, and a text.
#define _GNU_SOURCE
#include <dlfcn.h>

#include "check.h"

static void report(const void* handle) {
  puts(handle == NULL ? dlerror() : "opened");
}

int main(void) {
  report(dlopen("libimage_plugin.so", RTLD_NOW | RTLD_DEEPBIND));
  report(dlmopen(LM_ID_NEWLM, "libimage_plugin.so", RTLD_NOW));
  CHECK(dlerror() == NULL);
  report(dlmopen(LM_ID_BASE, "libimage_plugin.so", RTLD_NOW));
  return 0;
}
