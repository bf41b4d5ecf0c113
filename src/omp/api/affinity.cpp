// Affinity formats, in C and in Fortran (with strings that have a length and end in blanks).
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "omp/affinity.h"
#include "omp/entry.h"

using namespace musubi::omp;

namespace {

// An empty format, or none, means affinity-format-var.
std::string chosen(std::string_view format) {
  return format.empty() ? affinity_format() : std::string(format);
}

std::string_view text_of(const char* format) {
  return format == nullptr ? std::string_view{} : std::string_view(format);
}

std::string_view without_blanks(const char* format, std::size_t length) {
  while (length > 0 && format[length - 1] == ' ') --length;
  return {format, length};
}

// Result: the length of the text without the final zero, as for all of these functions.
std::size_t store(std::string_view text, char* buffer, std::size_t bytes) {
  if (bytes > 0) {
    const std::size_t length = std::min(text.size(), bytes - 1);
    std::memcpy(buffer, text.data(), length);
    buffer[length] = 0;
  }
  return text.size();
}

std::size_t store_with_blanks(std::string_view text, char* buffer, std::size_t bytes) {
  const std::size_t length = std::min(text.size(), bytes);
  std::memcpy(buffer, text.data(), length);
  std::memset(buffer + length, ' ', bytes - length);
  return text.size();
}

}  // namespace

extern "C" {

MUSUBI_EXPORT void omp_set_affinity_format(const char* format) {
  MUSUBI_OMP_ENTRY();
  set_affinity_format(text_of(format));
}
MUSUBI_EXPORT void omp_set_affinity_format_(const char* format, std::size_t length) {
  MUSUBI_OMP_ENTRY();
  set_affinity_format(without_blanks(format, length));
}

MUSUBI_EXPORT std::size_t omp_get_affinity_format(char* buffer, std::size_t bytes) {
  return store(affinity_format(), buffer, bytes);
}
MUSUBI_EXPORT int omp_get_affinity_format_(char* buffer, std::size_t bytes) {
  return static_cast<int>(store_with_blanks(affinity_format(), buffer, bytes));
}

MUSUBI_EXPORT void omp_display_affinity(const char* format) {
  print_affinity(chosen(text_of(format)));
}
MUSUBI_EXPORT void omp_display_affinity_(const char* format, std::size_t length) {
  print_affinity(chosen(without_blanks(format, length)));
}

MUSUBI_EXPORT std::size_t omp_capture_affinity(char* buffer, std::size_t bytes, const char* format) {
  return store(affinity_text(chosen(text_of(format))), buffer, bytes);
}
MUSUBI_EXPORT int omp_capture_affinity_(char* buffer, const char* format, std::size_t bytes,
                                        std::size_t length) {
  return static_cast<int>(
      store_with_blanks(affinity_text(chosen(without_blanks(format, length))), buffer, bytes));
}

}  // extern "C"
