// Calls about files that need more than an open buffer.
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "heap/heap.h"
#include "image/process/real_function.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/kernel_access.h"

namespace {

using namespace musubi::image;

// The mode is present if the call may create a file.
mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

int open_file(int directory, const char* path, int flags, mode_t mode) {
  using OpenAt = int (*)(int, const char*, int, ...);
  static const auto next = reinterpret_cast<OpenAt>(next_definition("openat"));
  Job* const job = job_of_memory();
  if (job != nullptr) KernelAccess(*job).text(path).file_if_open(directory);
  const int file = next(directory, path, flags, mode);
  if (file >= 0 && file <= STDERR_FILENO && job != nullptr && job->program_runs() &&
      current_job() != nullptr) {
    job->descriptors.spread_standard(file);
  }
  return file;
}

// The C library would pass a buffer in shared memory to the kernel: the stream gets a private buffer instead.
char* without_shared(char* buffer) {
  const Job* const job = job_of_memory();
  return job != nullptr && job->runtime.memory().is_shared(reinterpret_cast<std::uintptr_t>(buffer)) ? nullptr
                                                                                                     : buffer;
}

int set_buffer(std::FILE* stream, char* buffer, int mode, std::size_t bytes) {
  using SetBuffer = int (*)(std::FILE*, char*, int, std::size_t);
  static const auto next = reinterpret_cast<SetBuffer>(next_definition("setvbuf"));
  Job* const job = job_of_ranks();
  if (job != nullptr && job->streams.is_foreign(stream)) {
    using musubi::image::Streams;
    return job->streams.operate(stream, Streams::Operation::buffer, static_cast<std::int64_t>(bytes), mode) ==
                   0
               ? 0
               : -1;
  }
  return next(stream, without_shared(buffer), mode, bytes);
}

}  // namespace

// fcntl.h gives open and open64 one name: the wrappers therefore have names of their own.
#define MUSUBI_OPEN(name)                                                            \
  MUSUBI_EXPORT int wrapped_##name(const char* path, int flags, ...) __asm__(#name); \
  int wrapped_##name(const char* path, int flags, ...) {                             \
    va_list arguments;                                                               \
    va_start(arguments, flags);                                                      \
    const mode_t mode = mode_of(flags, arguments);                                   \
    va_end(arguments);                                                               \
    return open_file(AT_FDCWD, path, flags, mode);                                   \
  }
#define MUSUBI_OPEN_AT(name)                                                                        \
  MUSUBI_EXPORT int wrapped_##name(int directory, const char* path, int flags, ...) __asm__(#name); \
  int wrapped_##name(int directory, const char* path, int flags, ...) {                             \
    va_list arguments;                                                                              \
    va_start(arguments, flags);                                                                     \
    const mode_t mode = mode_of(flags, arguments);                                                  \
    va_end(arguments);                                                                              \
    return open_file(directory, path, flags, mode);                                                 \
  }
#define MUSUBI_OPEN_CHECKED(name)                                               \
  MUSUBI_EXPORT int wrapped_##name(const char* path, int flags) __asm__(#name); \
  int wrapped_##name(const char* path, int flags) {                             \
    return open_file(AT_FDCWD, path, flags, 0);                                 \
  }
#define MUSUBI_OPEN_AT_CHECKED(name)                                                           \
  MUSUBI_EXPORT int wrapped_##name(int directory, const char* path, int flags) __asm__(#name); \
  int wrapped_##name(int directory, const char* path, int flags) {                             \
    return open_file(directory, path, flags, 0);                                               \
  }
MUSUBI_OPEN(open)
MUSUBI_OPEN(open64)
MUSUBI_OPEN_AT(openat)
MUSUBI_OPEN_AT(openat64)
// Called by fortified programs; they pass no mode.
MUSUBI_OPEN_CHECKED(__open_2)
MUSUBI_OPEN_CHECKED(__open64_2)
MUSUBI_OPEN_AT_CHECKED(__openat_2)
MUSUBI_OPEN_AT_CHECKED(__openat64_2)

MUSUBI_EXPORT int setvbuf(std::FILE* stream, char* buffer, int mode, std::size_t bytes) noexcept {
  return set_buffer(stream, buffer, mode, bytes);
}
MUSUBI_EXPORT void setbuf(std::FILE* stream, char* buffer) noexcept {
  set_buffer(stream, buffer, buffer == nullptr ? _IONBF : _IOFBF, BUFSIZ);
}
MUSUBI_EXPORT void setbuffer(std::FILE* stream, char* buffer, std::size_t bytes) noexcept {
  set_buffer(stream, buffer, buffer == nullptr ? _IONBF : _IOFBF, bytes);
}
MUSUBI_EXPORT void setlinebuf(std::FILE* stream) noexcept {
  set_buffer(stream, nullptr, _IOLBF, 0);
}
