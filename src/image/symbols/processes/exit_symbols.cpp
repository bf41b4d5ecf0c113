// The exit functions that the program may call (program_exit.h), handlers that it registers for its end, and
// functions that print a message and may exit: inside the C library they would bypass our exit().
#include <err.h>
#include <error.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "heap/heap.h"
#include "image/process/real_function.h"
#include "image/start/job.h"
#include "image/start/program_exit.h"
#include "image/symbols/exported.h"

using namespace musubi::image;

namespace {

[[noreturn]] void leave_at_once(int status) {
  leave_job(status & 0xff);
  exit_process(status);
}

}  // namespace

MUSUBI_EXPORT void exit(int status) noexcept {
  using Exit = void (*)(int);
  static const auto next = reinterpret_cast<Exit>(next_definition("exit"));
  const musubi::image::Job* const job = current_job();
  if (job != nullptr && !job->is_first_rank()) leave_other_rank(status);
  next(status);
  __builtin_unreachable();
}

MUSUBI_EXPORT void _exit(int status) {
  leave_at_once(status);
}
MUSUBI_EXPORT void _Exit(int status) noexcept {
  leave_at_once(status);
}

MUSUBI_EXPORT void quick_exit(int status) noexcept {
  using Exit = void (*)(int);
  static const auto next = reinterpret_cast<Exit>(next_definition("quick_exit"));
  if (current_job() != nullptr) leave_quickly(status);
  next(status);
  __builtin_unreachable();
}

namespace {

// `place`: in the registering object. The caller's address does not tell, because constructors end with a
// tail call. Null: that object is part of the C library or ours, or there is no job.
ExitHandlers* handlers_for(const void* place) {
  Job* const job = current_job();
  const bool is_of_job = job != nullptr && job->program_runs() && musubi::heap::process_heap.serves(place);
  return is_of_job ? &job->exit_handlers : nullptr;
}

using AtExit = int (*)(void*, void*, void*);
using OfTwo = int (*)(void*, void*);
constinit Next<AtExit> next_at_exit("__cxa_atexit");
constinit Next<OfTwo> next_at_quick_exit("__cxa_at_quick_exit"), next_on_exit("on_exit");

}  // namespace

// atexit calls it, and so does the code of objects with destructors.
MUSUBI_EXPORT int __cxa_atexit(void* function, void* argument, void* object) noexcept {
  ExitHandlers* const handlers = handlers_for(object != nullptr ? object : function);
  if (handlers == nullptr) return next_at_exit.get()(function, argument, object);
  handlers->add(ExitHandlers::List::exit, {function, argument, false});
  return 0;
}
MUSUBI_EXPORT int __cxa_at_quick_exit(void* function, void* object) noexcept {
  ExitHandlers* const handlers = handlers_for(object != nullptr ? object : function);
  if (handlers == nullptr) return next_at_quick_exit.get()(function, object);
  handlers->add(ExitHandlers::List::quick_exit, {function, nullptr, false});
  return 0;
}
MUSUBI_WRAPPER(int, on_exit, (void* function, void* argument)) {
  ExitHandlers* const handlers = handlers_for(function);
  if (handlers == nullptr) return next_on_exit.get()(function, argument);
  handlers->add(ExitHandlers::List::exit, {function, argument, true});
  return 0;
}

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

MUSUBI_WRAPPER(void, error, (int status, int number, const char* format, ...)) {
  va_list arguments;
  va_start(arguments, format);
  {
    const Text text(format, arguments);
    next_error.get()(0, number, "%s", text.get());
  }
  va_end(arguments);
  if (status != 0) ::exit(status);
}

MUSUBI_WRAPPER(void, error_at_line,
               (int status, int number, const char* file, unsigned line, const char* format, ...)) {
  va_list arguments;
  va_start(arguments, format);
  {
    const Text text(format, arguments);
    next_error_at_line.get()(0, number, file, line, "%s", text.get());
  }
  va_end(arguments);
  if (status != 0) ::exit(status);
}
