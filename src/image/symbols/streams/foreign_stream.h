// Common parts of the wrappers of stream calls.
#pragma once

#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "image/process/call_result.h"
#include "image/start/job.h"

namespace musubi::image {

// Null unless another rank owns `stream`.
inline Streams* owner_of(const FILE* stream) noexcept {
  Job* const job = job_of_ranks();
  return job != nullptr && job->streams.is_foreign(stream) ? &job->streams : nullptr;
}

// Runs `call`, in which the C library closes the descriptor of `stream`; other ranks drop their copies.
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
