// `opens_checked <library>...`: opens libraries with notes of compiled checks.
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (dlopen(argv[i], RTLD_NOW) == NULL) return puts(dlerror());
    printf("opened %d\n", i);
    fflush(stdout);
  }
  return 0;
}
