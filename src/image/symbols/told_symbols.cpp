// The wrappers of told_calls.def, and exit handlers, which run at rank 0 alone.
#include <cstdint>

#include "heap/heap.h"
#include "image/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/far_functions.h"
#include "image/symbols/next_function.h"

namespace musubi::image {
namespace {

Job* job_to_tell() {
  Job* const job = current_job();
  return job != nullptr && job->program_runs && job->runtime.ranks() > 1 ? job : nullptr;
}

// Tells the others when the call here is over.
class Told {
 public:
  template <class... Arguments>
  explicit Told(const char* name, Arguments... arguments) : call_{name, {to_word(arguments)...}} {}
  Told(const Told&) = delete;
  ~Told() {
    if (Job* const job = job_to_tell()) job->attributes.spread(call_);
  }

 private:
  const Attributes::Call call_;
};

}  // namespace
}  // namespace musubi::image

#define MUSUBI_TOLD(result, name, parameters, arguments)                                  \
  extern "C" __attribute__((visibility("default"))) result told_##name parameters;        \
  extern "C" result told_##name parameters {                                              \
    using Type = result parameters;                                                       \
    static constinit musubi::image::Next<Type*> next(#name);                              \
    const auto tell = [](auto... given) { return musubi::image::Told(#name, given...); }; \
    const musubi::image::Told told = tell arguments;                                      \
    return next.get() arguments;                                                          \
  }
#include "image/symbols/told_calls.def"
#undef MUSUBI_TOLD

namespace {

using musubi::image::Job;
using musubi::image::Next;

// Registers a handler of the program at rank 0, where exit() runs them. Those of libraries whose data this
// rank has for itself stay here.
template <class... Arguments>
int register_handler(const void* caller, const char* name, int (*next)(Arguments...),
                     Arguments... arguments) {
  Job* const job = musubi::image::job_to_tell();
  if (job == nullptr || job->is_first_rank() || !musubi::heap::process_heap.serves(caller))
    return next(arguments...);
  return static_cast<int>(job->attributes.call_at_first_rank({name, {musubi::image::to_word(arguments)...}}));
}

constinit Next<int (*)(void*, void*, void*)> next_at_exit("__cxa_atexit");
constinit Next<int (*)(void*, void*)> next_at_quick_exit("__cxa_at_quick_exit"), next_on_exit("on_exit");

}  // namespace

// What atexit calls, and objects that are made at their first use.
MUSUBI_EXPORT int __cxa_atexit(void* function, void* argument, void* object) noexcept {
  return register_handler(MUSUBI_CALLER, "__cxa_atexit", next_at_exit.get(), function, argument, object);
}
MUSUBI_EXPORT int __cxa_at_quick_exit(void* function, void* object) noexcept {
  return register_handler(MUSUBI_CALLER, "__cxa_at_quick_exit", next_at_quick_exit.get(), function, object);
}
MUSUBI_EXPORT int wrapped_on_exit(void* function, void* argument) __asm__("on_exit");
int wrapped_on_exit(void* function, void* argument) {
  return register_handler(MUSUBI_CALLER, "on_exit", next_on_exit.get(), function, argument);
}
