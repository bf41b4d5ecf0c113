// deep_binding LIBRARY: loads it with RTLD_DEEPBIND. Either that is refused with a reason, or memory can be
// passed back and forth.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  void* const library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW | RTLD_DEEPBIND);
  if (library == NULL) {
    const char* const reason = dlerror();
    return reason != NULL && strstr(reason, "RTLD_DEEPBIND") != NULL ? 0 : 1;
  }
  char* (*make)(size_t) = (char* (*)(size_t))dlsym(library, "make_block");
  void (*give_back)(char*) = (void (*)(char*))dlsym(library, "give_back_block");
  for (size_t bytes = 1; bytes < 100000; bytes *= 3) {
    give_back(malloc(bytes));
    free(make(bytes));
  }
  int threads = 0;
#pragma omp parallel reduction(+ : threads)
  ++threads;
  return threads < 1;
}
