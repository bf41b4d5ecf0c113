#include "image/real_function.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace musubi::image {

void* next_definition(const char* name) noexcept {
  return ::dlsym(RTLD_NEXT, name);
}

void exit_process(int status) noexcept {
  while (true) ::syscall(SYS_exit_group, status);
}

}  // namespace musubi::image
