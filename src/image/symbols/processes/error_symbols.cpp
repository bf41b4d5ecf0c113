// Functions that print a message and may exit: inside the C library they would bypass our exit().
#include <err.h>
#include <error.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "image/symbols/exported.h"
#include "image/symbols/next_function.h"

// The wrappers have names of their own, so that they need not repeat the headers' exact declarations.
MUSUBI_EXPORT [[noreturn]] void wrapped_verr(int status, const char* format,
                                             va_list arguments) __asm__("verr");
void wrapped_verr(int status, const char* format, va_list arguments) {
  ::vwarn(format, arguments);
  ::exit(status);
}
MUSUBI_EXPORT [[noreturn]] void wrapped_verrx(int status, const char* format,
                                              va_list arguments) __asm__("verrx");
void wrapped_verrx(int status, const char* format, va_list arguments) {
  ::vwarnx(format, arguments);
  ::exit(status);
}
MUSUBI_EXPORT [[noreturn]] void wrapped_err(int status, const char* format, ...) __asm__("err");
void wrapped_err(int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  wrapped_verr(status, format, arguments);
}
MUSUBI_EXPORT [[noreturn]] void wrapped_errx(int status, const char* format, ...) __asm__("errx");
void wrapped_errx(int status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  wrapped_verrx(status, format, arguments);
}

namespace {

using musubi::image::Next;
constinit Next<void (*)(int, int, const char*, ...)> next_error("error");
constinit Next<void (*)(int, int, const char*, unsigned, const char*, ...)> next_error_at_line(
    "error_at_line");

// A formatted message, which can be printed again without the arguments.
class Text {
 public:
  Text(const char* format, va_list arguments) {
    if (::vasprintf(&text_, format, arguments) < 0) text_ = nullptr;
  }
  ~Text() { std::free(text_); }
  Text(const Text&) = delete;
  const char* get() const { return text_ != nullptr ? text_ : ""; }

 private:
  char* text_ = nullptr;
};

}  // namespace

MUSUBI_EXPORT void wrapped_error(int status, int number, const char* format, ...) __asm__("error");
void wrapped_error(int status, int number, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  {
    const Text text(format, arguments);
    next_error.get()(0, number, "%s", text.get());
  }
  va_end(arguments);
  if (status != 0) ::exit(status);
}

MUSUBI_EXPORT void wrapped_error_at_line(int status, int number, const char* file, unsigned line,
                                         const char* format, ...) __asm__("error_at_line");
void wrapped_error_at_line(int status, int number, const char* file, unsigned line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  {
    const Text text(format, arguments);
    next_error_at_line.get()(0, number, file, line, "%s", text.get());
  }
  va_end(arguments);
  if (status != 0) ::exit(status);
}
