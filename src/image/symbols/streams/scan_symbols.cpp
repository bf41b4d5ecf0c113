// scanf(3) and its variants with a va_list: memory that %m allocates belongs to the program.
#include <stdio.h>
#include <wchar.h>

#include <cstdarg>
#include <cstring>

#include "heap/heap.h"
#include "image/objects/streams.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"

namespace {

using musubi::heap::process_heap;
using namespace musubi::image;

struct Conversion {
  char type = '\0';  // '\0': none is left
  bool takes_argument = false;
  bool allocates = false;
  bool is_wide = false;
  std::size_t width = 1;
};

// The next conversion in `format`; moves `format` past it.
Conversion next_conversion(const char*& format) {
  Conversion result;
  for (format = std::strchr(format, '%'); format != nullptr; format = std::strchr(format + 2, '%')) {
    if (format[1] != '%') break;
  }
  if (format == nullptr) return result;
  ++format;
  result.takes_argument = true;
  std::size_t digits = 0;
  for (; *format != '\0' && std::strchr("*'I0123456789mhlLqjzt", *format) != nullptr; ++format) {
    if (*format == '*') result.takes_argument = false;
    if (*format == 'm') result.allocates = true;
    if (*format == 'l') result.is_wide = true;
    if (*format >= '0' && *format <= '9') digits = 10 * digits + static_cast<std::size_t>(*format - '0');
  }
  if (digits != 0) result.width = digits;
  result.type = *format;
  if (*format == '[') {
    if (*++format == '^') ++format;
    if (*format == ']') ++format;
    while (*format != '\0' && *format != ']') ++format;
  }
  if (*format != '\0') ++format;
  return result;
}

// Moves those of the first `count` results that the C library has allocated to shared memory. Numbered
// arguments ("%1$ms") stay private.
void share_results(const char* format, va_list arguments, int count) {
  while (count > 0) {
    const Conversion conversion = next_conversion(format);
    if (conversion.type == '\0') return;
    if (!conversion.takes_argument) continue;
    void* const argument = va_arg(arguments, void*);
    if (conversion.type != 'n') --count;
    if (!conversion.allocates) continue;
    char*& text = *static_cast<char**>(argument);
    const bool is_wide = conversion.is_wide || conversion.type == 'S' || conversion.type == 'C';
    const std::size_t character_bytes = is_wide ? sizeof(wchar_t) : sizeof(char);
    const bool counts = conversion.type == 'c' || conversion.type == 'C';
    const std::size_t length = counts    ? conversion.width
                               : is_wide ? std::wcslen(reinterpret_cast<const wchar_t*>(text)) + 1
                                         : std::strlen(text) + 1;
    void* const shared = process_heap.allocate_shared(length * character_bytes);
    if (shared == nullptr) continue;
    std::memcpy(shared, text, length * character_bytes);
    process_heap.release(text);
    text = static_cast<char*>(shared);
  }
}

// `call` scans with a va_list.
template <class Call>
int scan(const char* format, va_list arguments, Call call) {
  if (current_job() == nullptr || std::strchr(format, 'm') == nullptr) return call(arguments);
  va_list again;
  va_copy(again, arguments);
  const int count = call(arguments);
  share_results(format, again, count);
  va_end(again);
  return count;
}

}  // namespace

#define MUSUBI_SCAN_STREAM(name)                                                                        \
  MUSUBI_EXPORT int wrapped_##name(FILE* stream, const char* format, va_list arguments) __asm__(#name); \
  int wrapped_##name(FILE* stream, const char* format, va_list arguments) {                             \
    static constinit Next<int (*)(FILE*, const char*, va_list)> next(#name);                            \
    const LocalStream here(stream, StreamUse::reading);                                                 \
    return scan(format, arguments, [&](va_list list) { return next.get()(here.get(), format, list); }); \
  }
MUSUBI_SCAN_STREAM(vfscanf)
MUSUBI_SCAN_STREAM(__isoc99_vfscanf)
MUSUBI_SCAN_STREAM(__isoc23_vfscanf)

#define MUSUBI_SCAN_TEXT(name, list_name)                                                         \
  MUSUBI_EXPORT int wrapped_##list_name(const char* text, const char* format,                     \
                                        va_list list) __asm__(#list_name);                        \
  int wrapped_##list_name(const char* text, const char* format, va_list arguments) {              \
    static constinit Next<int (*)(const char*, const char*, va_list)> next(#list_name);           \
    return scan(format, arguments, [&](va_list list) { return next.get()(text, format, list); }); \
  }                                                                                               \
  MUSUBI_EXPORT int wrapped_##name(const char* text, const char* format, ...) __asm__(#name);     \
  int wrapped_##name(const char* text, const char* format, ...) {                                 \
    va_list list;                                                                                 \
    va_start(list, format);                                                                       \
    const int count = wrapped_##list_name(text, format, list);                                    \
    va_end(list);                                                                                 \
    return count;                                                                                 \
  }
MUSUBI_SCAN_TEXT(sscanf, vsscanf)
MUSUBI_SCAN_TEXT(__isoc99_sscanf, __isoc99_vsscanf)
MUSUBI_SCAN_TEXT(__isoc23_sscanf, __isoc23_vsscanf)
