// The wrappers of told_calls.def.
#include <cstdint>

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
