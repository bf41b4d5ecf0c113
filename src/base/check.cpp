#include "base/check.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace musubi {
namespace {

// The one writable object of the base layer: it must be readable when everything else is broken.
char check_prefix[64] = "";

}  // namespace

void set_check_prefix(const char* prefix) noexcept {
  std::snprintf(check_prefix, sizeof check_prefix, "%s", prefix);
}

void check_failed(const char* file, int line, const char* condition) noexcept {
  check_failed(file, line, condition, "%s", "");
}

void check_failed(const char* file, int line, const char* condition, const char* format, ...) noexcept {
  char text[512];
  int used = std::snprintf(text, sizeof text, "musubi: %s%sinternal error at %s:%d: %s", check_prefix,
                           check_prefix[0] ? ": " : "", file, line, condition);
  if (format[0] != '\0' && used > 0 && used < static_cast<int>(sizeof text) - 3) {
    text[used++] = ':';
    text[used++] = ' ';
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text + used, sizeof text - used, format, arguments);
    va_end(arguments);
  }
  std::size_t length = std::strlen(text);
  if (length > sizeof text - 2) length = sizeof text - 2;
  text[length++] = '\n';
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text, length);
  std::abort();
}

}  // namespace musubi
