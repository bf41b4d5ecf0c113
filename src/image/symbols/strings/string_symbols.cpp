// Functions of the C library whose result the program owns: the C library's own result would be private
// memory.
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "heap/heap.h"
#include "image/process/real_function.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/kernel_access.h"

namespace {

using musubi::heap::process_heap;
using musubi::image::next_definition;

char* copy_text(const char* text, std::size_t length, const void* caller) {
  auto* const copy = static_cast<char*>(process_heap.allocate(length + 1, caller));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text, length);
  copy[length] = '\0';
  return copy;
}

int print_to_new(char** result, const char* format, va_list arguments, const void* caller) {
  va_list again;
  va_copy(again, arguments);
  const int length = ::vsnprintf(nullptr, 0, format, arguments);
  char* text = nullptr;
  if (length >= 0)
    text = static_cast<char*>(process_heap.allocate(static_cast<std::size_t>(length) + 1, caller));
  if (text != nullptr) ::vsnprintf(text, static_cast<std::size_t>(length) + 1, format, again);
  va_end(again);
  if (text == nullptr) return -1;
  *result = text;
  return length;
}

// Makes a first buffer in shared memory, which the C library then enlarges.
bool provide_line(char** line, std::size_t* bytes, const void* caller) {
  constexpr std::size_t first_bytes = 120;  // as glibc
  if (line == nullptr || bytes == nullptr || (*line != nullptr && *bytes != 0)) return true;
  auto* const memory = static_cast<char*>(process_heap.resize(*line, first_bytes, caller));
  if (memory == nullptr) return false;
  *line = memory;
  *bytes = first_bytes;
  return true;
}

ssize_t read_line(char** line, std::size_t* bytes, int delimiter, FILE* stream, const void* caller) {
  using GetDelimiter = ssize_t (*)(char**, std::size_t*, int, FILE*);
  static const auto next = reinterpret_cast<GetDelimiter>(next_definition("getdelim"));
  return provide_line(line, bytes, caller)
             ? next(line, bytes, delimiter,
                    musubi::image::LocalStream(stream, musubi::image::StreamUse::reading).get())
             : -1;
}

char* resolve_path(const char* path, char* result, const void* caller) {
  using RealPath = char* (*)(const char*, char*);
  static const auto next = reinterpret_cast<RealPath>(next_definition("realpath"));
  char resolved[PATH_MAX];
  if (path != nullptr) {
    if (musubi::image::Job* const job = musubi::image::job_of_memory()) {
      musubi::image::KernelAccess(*job).text(path);
    }
  }
  if (next(path, resolved) == nullptr) return nullptr;
  return result == nullptr ? copy_text(resolved, std::strlen(resolved), caller)
                           : std::strcpy(result, resolved);
}

char* current_directory(char* result, std::size_t bytes, const void* caller) {
  using GetDirectory = char* (*)(char*, std::size_t);
  static const auto next = reinterpret_cast<GetDirectory>(next_definition("getcwd"));
  if (result != nullptr && bytes == 0) return next(result, bytes);  // the C library reports the error
  char directory[PATH_MAX];
  if (next(directory, sizeof directory) == nullptr) return nullptr;
  const std::size_t length = std::strlen(directory);
  if (bytes != 0 && length >= bytes) {
    errno = ERANGE;
    return nullptr;
  }
  if (result != nullptr) return std::strcpy(result, directory);
  auto* const text = static_cast<char*>(process_heap.allocate(bytes == 0 ? length + 1 : bytes, caller));
  return text == nullptr ? nullptr : std::strcpy(text, directory);
}

}  // namespace

MUSUBI_EXPORT char* strdup(const char* text) noexcept {
  return copy_text(text, std::strlen(text), MUSUBI_CALLER);
}
MUSUBI_EXPORT char* __strdup(const char* text) noexcept {
  return copy_text(text, std::strlen(text), MUSUBI_CALLER);
}
MUSUBI_EXPORT char* strndup(const char* text, std::size_t length) noexcept {
  return copy_text(text, ::strnlen(text, length), MUSUBI_CALLER);
}
MUSUBI_EXPORT char* __strndup(const char* text, std::size_t length) noexcept {
  return copy_text(text, ::strnlen(text, length), MUSUBI_CALLER);
}
MUSUBI_EXPORT wchar_t* wcsdup(const wchar_t* text) noexcept {
  const std::size_t bytes = (std::wcslen(text) + 1) * sizeof(wchar_t);
  void* const copy = process_heap.allocate(bytes, MUSUBI_CALLER);
  return copy == nullptr ? nullptr : static_cast<wchar_t*>(std::memcpy(copy, text, bytes));
}

#define MUSUBI_PRINT_TO_NEW(last)                                            \
  va_list arguments;                                                         \
  va_start(arguments, last);                                                 \
  const int length = print_to_new(result, format, arguments, MUSUBI_CALLER); \
  va_end(arguments);                                                         \
  return length
MUSUBI_EXPORT int vasprintf(char** result, const char* format, va_list arguments) noexcept {
  return print_to_new(result, format, arguments, MUSUBI_CALLER);
}
MUSUBI_EXPORT int __vasprintf_chk(char** result, int, const char* format, va_list arguments) noexcept {
  return print_to_new(result, format, arguments, MUSUBI_CALLER);
}
MUSUBI_EXPORT int asprintf(char** result, const char* format, ...) noexcept {
  MUSUBI_PRINT_TO_NEW(format);
}
MUSUBI_EXPORT int __asprintf(char** result, const char* format, ...) noexcept {
  MUSUBI_PRINT_TO_NEW(format);
}
MUSUBI_EXPORT int __asprintf_chk(char** result, int, const char* format, ...) noexcept {
  MUSUBI_PRINT_TO_NEW(format);
}

// stdio.h may define getline inline: the wrapper therefore has a name of its own.
MUSUBI_WRAPPER(ssize_t, getline, (char** line, std::size_t* bytes, FILE* stream)) {
  return read_line(line, bytes, '\n', stream, MUSUBI_CALLER);
}
MUSUBI_EXPORT ssize_t getdelim(char** line, std::size_t* bytes, int delimiter, FILE* stream) {
  return read_line(line, bytes, delimiter, stream, MUSUBI_CALLER);
}
MUSUBI_EXPORT ssize_t __getdelim(char** line, std::size_t* bytes, int delimiter, FILE* stream) {
  return read_line(line, bytes, delimiter, stream, MUSUBI_CALLER);
}

MUSUBI_EXPORT char* realpath(const char* path, char* result) noexcept {
  return resolve_path(path, result, MUSUBI_CALLER);
}
MUSUBI_EXPORT char* __realpath_chk(const char* path, char* result, std::size_t) noexcept {
  return resolve_path(path, result, MUSUBI_CALLER);
}
MUSUBI_EXPORT char* canonicalize_file_name(const char* path) noexcept {
  return resolve_path(path, nullptr, MUSUBI_CALLER);
}
MUSUBI_EXPORT char* getcwd(char* result, std::size_t bytes) noexcept {
  return current_directory(result, bytes, MUSUBI_CALLER);
}
MUSUBI_EXPORT char* __getcwd_chk(char* result, std::size_t bytes, std::size_t) noexcept {
  return current_directory(result, bytes, MUSUBI_CALLER);
}
MUSUBI_EXPORT char* get_current_dir_name() noexcept {
  return current_directory(nullptr, 0, MUSUBI_CALLER);
}
