// What the wrappers of calls on streams of any rank have in common.
#pragma once

#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "image/start/job.h"

namespace musubi::image {

// Null unless `stream` is another rank's.
inline Streams* owner_of(const FILE* stream) noexcept {
  Job* const job = job_of_ranks();
  return job != nullptr && job->streams.is_foreign(stream) ? &job->streams : nullptr;
}

// The operation's result as the C library tells it.
inline std::int64_t told(std::int64_t result) noexcept {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// The C library closes the descriptor of `stream` in `call`: other ranks let go of it.
template <class Call>
auto while_closing(FILE* stream, Call call) {
  Job* const job = current_job();
  if (job == nullptr || !job->program_runs()) return call();
  const int kept_errno = errno;
  const int number = ::fileno(stream);
  errno = kept_errno;
  job->descriptors.let_go_elsewhere(number);
  const auto result = call();
  job->descriptors.let_go_elsewhere(number);
  return result;
}

}  // namespace musubi::image
