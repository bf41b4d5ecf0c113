// Calls that query or change the state of a stream of any rank (image/objects/streams.h).
#include <stdio.h>
#include <unistd.h>
#include <wchar.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <type_traits>

#include "image/objects/streams.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/kernel_access.h"
#include "image/symbols/streams/foreign_stream.h"

namespace {

using namespace musubi::image;
using Operation = Streams::Operation;

FILE* reopen(FILE* (*next)(const char*, const char*, FILE*), const char* path, const char* mode,
             FILE* stream) {
  Job* const job = current_job();
  if (job != nullptr) KernelAccess(*job).text(path).text(mode);
  Streams* const owner = owner_of(stream);
  if (owner == nullptr) {
    const bool standard = stream == stdin || stream == stdout || stream == stderr;
    FILE* const result = while_closing(stream, [&] { return next(path, mode, stream); });
    if (standard && job != nullptr && job->program_runs()) {
      job->descriptors.spread_standard(stream == stdin ? 0 : stream == stdout ? 1 : 2);
    }
    return result;
  }
  char names[Streams::data_bytes_max];
  const std::size_t mode_bytes = std::strlen(mode) + 1;
  const std::size_t bytes = mode_bytes + (path == nullptr ? 0 : std::strlen(path)) + 1;
  if (path == nullptr || bytes > sizeof names) {
    errno = path == nullptr ? EINVAL : ENAMETOOLONG;
    return nullptr;
  }
  std::memcpy(names, mode, mode_bytes);
  std::memcpy(names + mode_bytes, path, bytes - mode_bytes);
  return as_call(owner->operate(stream, Operation::reopen, 0, 0, {names, bytes})) == 0 ? stream : nullptr;
}

}  // namespace

// MUSUBI_ON_STREAM(result, name, (parameters), (arguments), operation on a foreign stream): any other stream
// goes to the C library.
#define MUSUBI_ON_STREAM(result, name, parameters, arguments, at_owner)                \
  MUSUBI_EXPORT result wrapped_##name parameters __asm__(#name);                       \
  result wrapped_##name parameters {                                                   \
    static constinit Next<result(*) parameters> next(#name);                           \
    if (Streams* const owner = owner_of(stream)) return static_cast<result>(at_owner); \
    return next.get() arguments;                                                       \
  }
#define MUSUBI_ON_STREAM_UNLOCKED(result, name, at_owner)             \
  MUSUBI_ON_STREAM(result, name, (FILE * stream), (stream), at_owner) \
  MUSUBI_ON_STREAM(result, name##_unlocked, (FILE * stream), (stream), at_owner)

MUSUBI_ON_STREAM_UNLOCKED(int, feof, owner->operate(stream, Operation::state) & 1)
MUSUBI_ON_STREAM_UNLOCKED(int, ferror, owner->operate(stream, Operation::state) & 2)
MUSUBI_ON_STREAM_UNLOCKED(void, clearerr, owner->operate(stream, Operation::clear_state))
MUSUBI_ON_STREAM_UNLOCKED(int, fileno, as_call(owner->operate(stream, Operation::number)))
MUSUBI_ON_STREAM(int, fseek, (FILE * stream, long offset, int whence), (stream, offset, whence),
                 as_call(owner->operate(stream, Operation::seek, offset, whence)))
MUSUBI_ON_STREAM(int, fseeko, (FILE * stream, off_t offset, int whence), (stream, offset, whence),
                 as_call(owner->operate(stream, Operation::seek, offset, whence)))
MUSUBI_ON_STREAM(int, fseeko64, (FILE * stream, off_t offset, int whence), (stream, offset, whence),
                 as_call(owner->operate(stream, Operation::seek, offset, whence)))
MUSUBI_ON_STREAM(long, ftell, (FILE * stream), (stream), as_call(owner->operate(stream, Operation::tell)))
MUSUBI_ON_STREAM(off_t, ftello, (FILE * stream), (stream), as_call(owner->operate(stream, Operation::tell)))
MUSUBI_ON_STREAM(off_t, ftello64, (FILE * stream), (stream), as_call(owner->operate(stream, Operation::tell)))
MUSUBI_ON_STREAM(void, flockfile, (FILE * stream), (stream),
                 owner->operate(stream, Operation::lock, 0, 0, {}, {}, Streams::Lock::keep))
MUSUBI_ON_STREAM(void, funlockfile, (FILE * stream), (stream),
                 owner->operate(stream, Operation::lock, 0, 0, {}, {}, Streams::Lock::let_go))
// Waits instead of reporting "busy": a caller that loops may not tell the difference.
MUSUBI_ON_STREAM(int, ftrylockfile, (FILE * stream), (stream),
                 owner->operate(stream, Operation::lock, 0, 0, {}, {}, Streams::Lock::keep))

namespace {

int put_back(FILE* stream, Streams& owner, int value) {
  const char byte = static_cast<char>(value);
  if (value == EOF || owner.operate(stream, Operation::unread, 0, 0, {&byte, 1}) < 0) return EOF;
  return static_cast<unsigned char>(value);
}

// Does not support positions of stateful wide characters.
int get_position(FILE* stream, Streams& owner, fpos_t* position) {
  const std::int64_t place = as_call(owner.operate(stream, Operation::tell));
  if (place < 0) return -1;
  std::memset(position, 0, sizeof *position);
  position->__pos = place;
  return 0;
}

}  // namespace

MUSUBI_ON_STREAM(int, ungetc, (int value, FILE* stream), (value, stream), put_back(stream, *owner, value))
MUSUBI_ON_STREAM(int, fgetpos, (FILE * stream, fpos_t* position), (stream, position),
                 get_position(stream, *owner, position))
MUSUBI_ON_STREAM(int, fgetpos64, (FILE * stream, fpos_t* position), (stream, position),
                 get_position(stream, *owner, position))
MUSUBI_ON_STREAM(int, fsetpos, (FILE * stream, const fpos_t* position), (stream, position),
                 as_call(owner->operate(stream, Operation::seek, position->__pos, SEEK_SET)))
MUSUBI_ON_STREAM(int, fsetpos64, (FILE * stream, const fpos_t* position), (stream, position),
                 as_call(owner->operate(stream, Operation::seek, position->__pos, SEEK_SET)))

MUSUBI_EXPORT void rewind(FILE* stream) {
  static constinit Next<void (*)(FILE*)> next("rewind");
  Streams* const owner = owner_of(stream);
  if (owner == nullptr) return next.get()(stream);
  owner->operate(stream, Operation::seek, 0, SEEK_SET);
  owner->operate(stream, Operation::clear_state);
}

MUSUBI_EXPORT int pclose(FILE* stream) {
  static constinit Next<int (*)(FILE*)> next("pclose");
  if (Streams* const owner = owner_of(stream)) {
    return static_cast<int>(as_call(owner->operate(stream, Operation::close_process)));
  }
  return while_closing(stream, [&] { return next.get()(stream); });
}

using Reopen = FILE* (*)(const char*, const char*, FILE*);
MUSUBI_WRAPPER(FILE*, freopen, (const char* path, const char* mode, FILE* stream)) {
  static constinit Next<Reopen> next("freopen");
  return reopen(next.get(), path, mode, stream);
}
MUSUBI_WRAPPER(FILE*, freopen64, (const char* path, const char* mode, FILE* stream)) {
  static constinit Next<Reopen> next("freopen64");
  return reopen(next.get(), path, mode, stream);
}

// Variadic functions, through the variants with a va_list, whose wrappers stream_calls.def makes. They have
// names of their own, because the headers redirect some of them. MUSUBI_VARIADIC(name, (parameters), last
// parameter, call with the list)
#define MUSUBI_VARIADIC(name, parameters, last, call)          \
  MUSUBI_EXPORT int variadic_##name parameters __asm__(#name); \
  int variadic_##name parameters {                             \
    va_list list;                                              \
    va_start(list, last);                                      \
    const int result = call;                                   \
    va_end(list);                                              \
    return result;                                             \
  }

extern "C" {
int print_list(FILE*, const char*, va_list) __asm__("vfprintf");
int print_checked_list(FILE*, int, const char*, va_list) __asm__("__vfprintf_chk");
int print_wide_list(FILE*, const wchar_t*, va_list) __asm__("vfwprintf");
int scan_list(FILE*, const char*, va_list) __asm__("vfscanf");
int scan_list_of_c99(FILE*, const char*, va_list) __asm__("__isoc99_vfscanf");
int scan_list_of_c23(FILE*, const char*, va_list) __asm__("__isoc23_vfscanf");
}

MUSUBI_VARIADIC(fprintf, (FILE * stream, const char* format, ...), format, print_list(stream, format, list))
MUSUBI_VARIADIC(__fprintf_chk, (FILE * stream, int flag, const char* format, ...), format,
                print_checked_list(stream, flag, format, list))
MUSUBI_VARIADIC(fwprintf, (FILE * stream, const wchar_t* format, ...), format,
                print_wide_list(stream, format, list))
MUSUBI_VARIADIC(fscanf, (FILE * stream, const char* format, ...), format, scan_list(stream, format, list))
MUSUBI_VARIADIC(__isoc99_fscanf, (FILE * stream, const char* format, ...), format,
                scan_list_of_c99(stream, format, list))
MUSUBI_VARIADIC(__isoc23_fscanf, (FILE * stream, const char* format, ...), format,
                scan_list_of_c23(stream, format, list))
MUSUBI_VARIADIC(scanf, (const char* format, ...), format, scan_list(stdin, format, list))
MUSUBI_VARIADIC(__isoc99_scanf, (const char* format, ...), format, scan_list_of_c99(stdin, format, list))
MUSUBI_VARIADIC(__isoc23_scanf, (const char* format, ...), format, scan_list_of_c23(stdin, format, list))

MUSUBI_VARIADIC(printf, (const char* format, ...), format, print_list(stdout, format, list))
MUSUBI_VARIADIC(__printf_chk, (int flag, const char* format, ...), format,
                print_checked_list(stdout, flag, format, list))
MUSUBI_VARIADIC(wprintf, (const wchar_t* format, ...), format, print_wide_list(stdout, format, list))

MUSUBI_WRAPPER(int, vprintf, (const char* format, va_list list)) {
  return print_list(stdout, format, list);
}
MUSUBI_EXPORT int __vprintf_chk(int flag, const char* format, va_list list) {
  return print_checked_list(stdout, flag, format, list);
}
MUSUBI_EXPORT int vwprintf(const wchar_t* format, va_list list) {
  return print_wide_list(stdout, format, list);
}
MUSUBI_EXPORT int puts(const char* text) {
  static constinit Next<int (*)(const char*)> next("puts");
  return owner_of(stdout) == nullptr ? next.get()(text) : std::fprintf(stdout, "%s\n", text);
}
MUSUBI_WRAPPER(int, putchar, (int value)) {
  return std::putc(value, stdout);
}
MUSUBI_WRAPPER(int, putchar_unlocked, (int value)) {
  return ::putc_unlocked(value, stdout);
}
MUSUBI_EXPORT wint_t putwchar(wchar_t value) {
  return ::putwc(value, stdout);
}

MUSUBI_WRAPPER(int, getchar, ()) {
  return std::getc(stdin);
}
MUSUBI_WRAPPER(int, getchar_unlocked, ()) {
  return ::getc_unlocked(stdin);
}
