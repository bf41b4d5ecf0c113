// The wrappers of broadcast_calls.def and first_rank_calls.def.
#include <bit>
#include <cstdint>
#include <type_traits>

#include "image/start/job.h"
#include "image/symbols/exported.h"
#include "image/symbols/far_functions.h"

namespace musubi::image {
namespace {

// Makes the other ranks repeat the call after it has returned here.
class Broadcast {
 public:
  template <class... Arguments>
  explicit Broadcast(const char* name, Arguments... arguments) : call_{name, {to_word(arguments)...}} {}
  Broadcast(const Broadcast&) = delete;
  ~Broadcast() {
    if (Job* const job = job_of_ranks()) job->attributes.spread(call_);
  }

 private:
  const Attributes::Call call_;
};

// Has rank 0 call the function. False if the calling rank calls it itself.
template <class Result>
class FirstRank {
 public:
  explicit FirstRank(const char* name) : name_(name), job_(job_of_ranks()) {}
  explicit operator bool() const { return job_ != nullptr && !job_->is_first_rank(); }
  template <class... Arguments>
  Result operator()(Arguments... arguments) const {
    constexpr bool gives_double = std::is_same_v<Result, double>;
    const std::int64_t word =
        job_->attributes.call_at_first_rank({name_, {to_word(arguments)...}, gives_double});
    if constexpr (gives_double) {
      return std::bit_cast<double>(word);
    } else {
      return static_cast<Result>(word);
    }
  }

 private:
  const char* const name_;
  Job* const job_;
};

template <class Result>
FirstRank<Result> ask_first_rank(const char* name) {
  return FirstRank<Result>(name);
}

}  // namespace
}  // namespace musubi::image

#define MUSUBI_BROADCAST(result, name, parameters, arguments)                                    \
  extern "C" __attribute__((visibility("default"))) result wrapped_##name parameters;            \
  extern "C" result wrapped_##name parameters {                                                  \
    using Type = result parameters;                                                              \
    static constinit musubi::image::Next<Type*> next(#name);                                     \
    const auto repeat = [](auto... given) { return musubi::image::Broadcast(#name, given...); }; \
    const musubi::image::Broadcast broadcast = repeat arguments;                                 \
    return next.get() arguments;                                                                 \
  }
#include "image/symbols/processes/broadcast_calls.def"
#undef MUSUBI_BROADCAST

#define MUSUBI_AT_FIRST_RANK(result, name, parameters, arguments)                                  \
  extern "C" __attribute__((visibility("default"))) result wrapped_##name parameters;              \
  extern "C" result wrapped_##name parameters {                                                    \
    using Type = result parameters;                                                                \
    static constinit musubi::image::Next<Type*> next(#name);                                       \
    if (const auto answer = musubi::image::ask_first_rank<result>(#name)) return answer arguments; \
    return next.get() arguments;                                                                   \
  }
#include "image/symbols/processes/first_rank_calls.def"
#undef MUSUBI_AT_FIRST_RANK
