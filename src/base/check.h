// Checks of our own invariants. A check that fails is a bug of Musubi, never of the user; checks are always
// on.
#pragma once

#include <cstdarg>

namespace musubi {

// Prints one line (where, what, rank and thread if known) with write(2) and aborts. Safe in a signal handler.
[[noreturn]] void check_failed(const char* file, int line, const char* condition) noexcept;
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const char* format,
                               ...) noexcept __attribute__((format(printf, 4, 5)));

// Prefix of each such line, e.g. "rank 3". Set once at start, before threads exist.
void set_check_prefix(const char* prefix) noexcept;

}  // namespace musubi

#define MUSUBI_CHECK(condition, ...)                                                     \
  do {                                                                                   \
    if (__builtin_expect(!(condition), 0))                                               \
      ::musubi::check_failed(__FILE__, __LINE__, #condition __VA_OPT__(, ) __VA_ARGS__); \
  } while (false)
