// The programs of this folder: a job, and cases that the command line names.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/join_job.h"

namespace musubi::test {

inline runtime::Runtime* job = nullptr;

// Ends the job unless both are equal.
inline void expect(const char* what, std::uint64_t found, std::uint64_t expected) {
  if (found == expected) return;
  std::fprintf(stderr, "rank %u: %s: %lu, not %lu\n", job->self().value, what, found, expected);
  job->ending().abort(1, what);
}

// All ranks.
inline void meet() {
  runtime::BarrierPayload nothing{};
  job->synchronization().barrier(nothing);
}

struct Case {
  std::string_view name;
  void (*run)();
};

// Joins the job, runs the case that the first argument names, and leaves the job. Result: the status where
// the job does not start; 2 for an unknown name.
inline int run_case(char** arguments, std::span<const Case> cases) {
  constexpr int wrong_call = 2, not_started = 125;
  auto settings = runtime::read_settings();
  auto bootstrap = runtime::join_job();
  if (!settings || !bootstrap) return wrong_call;
  auto started =
      runtime::start_runtime(settings.value(), std::move(bootstrap).value(), {.adds_segments = true});
  if (!started) {
    std::fprintf(stderr, "%s\n", started.error().message.c_str());
    return not_started;
  }
  job = started.value().get();
  bool is_known = false;
  for (const Case& one : cases) {
    if (one.name != arguments[1]) continue;
    is_known = true;
    one.run();
  }
  if (!is_known) job->ending().abort(wrong_call, "the test names no case of this program");
  meet();
  job->ending().finish(0);
  ::_exit(0);
}

}  // namespace musubi::test
