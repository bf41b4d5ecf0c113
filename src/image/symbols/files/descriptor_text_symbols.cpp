// dprintf and its variants, which write inside the C library: here they write through the wrapper.
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "image/symbols/exported.h"

namespace {

int print(int file, const char* format, va_list arguments) {
  char* text = nullptr;
  const int bytes = ::vasprintf(&text, format, arguments);
  if (bytes < 0) return -1;
  int done = 0;
  while (done < bytes) {
    const ssize_t written = ::write(file, text + done, static_cast<std::size_t>(bytes - done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    done += static_cast<int>(written);
  }
  const int error = errno;
  std::free(text);
  errno = error;
  return done == bytes ? bytes : -1;
}

}  // namespace

// Programs may be built with or without format checks: the wrappers therefore have names of their own.
#define MUSUBI_PRINT(name, parameters, ...)                   \
  MUSUBI_EXPORT int wrapped_##name parameters __asm__(#name); \
  int wrapped_##name parameters {                             \
    return print(__VA_ARGS__);                                \
  }
MUSUBI_PRINT(vdprintf, (int file, const char* format, va_list arguments), file, format, arguments)
MUSUBI_PRINT(__vdprintf_chk, (int file, int, const char* format, va_list arguments), file, format, arguments)

#define MUSUBI_PRINT_LIST(name, parameters)                   \
  MUSUBI_EXPORT int wrapped_##name parameters __asm__(#name); \
  int wrapped_##name parameters {                             \
    va_list arguments;                                        \
    va_start(arguments, format);                              \
    const int result = print(file, format, arguments);        \
    va_end(arguments);                                        \
    return result;                                            \
  }
MUSUBI_PRINT_LIST(dprintf, (int file, const char* format, ...))
MUSUBI_PRINT_LIST(__dprintf_chk, (int file, int, const char* format, ...))
