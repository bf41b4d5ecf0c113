#include "image/start/job.h"

namespace musubi::image {
namespace {

// Interposed functions have no argument to carry the job.
constinit Job* job_of_process = nullptr;

}  // namespace

void set_job(Job& job) noexcept {
  job_of_process = &job;
}

Job* current_job() noexcept {
  return own_runtime() != nullptr ? job_of_process : nullptr;
}

Job* job_of_memory() noexcept {
  return runtime_of_memory() != nullptr ? job_of_process : nullptr;
}

}  // namespace musubi::image
