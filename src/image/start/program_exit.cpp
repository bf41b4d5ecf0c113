#include "image/start/program_exit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <vector>

#include "image/libraries/held_constructors.h"
#include "image/process/real_function.h"
#include "image/start/job.h"
#include "omp/process.h"
#include "os/system_call.h"

namespace musubi::image {
namespace {

// Several threads of a rank may exit at the same time; the job is told once.
constinit std::atomic<bool> has_ended{false};
// A child made by vfork runs in this memory, but its exit does not end the rank.
constinit pid_t process_of_job = 0;

constexpr int status_mask = 0xff;  // bits of a status that wait(2) reports

// This process's own id; the program sees rank 0's.
pid_t process_id() noexcept {
  return static_cast<pid_t>(os::system_call(SYS_getpid));
}

// Non-null only for the first thread that calls it.
Job* job_to_end() noexcept {
  Job* const job = current_job();
  if (job == nullptr || process_id() != process_of_job || has_ended.exchange(true)) return nullptr;
  return job;
}

void run_handlers(int status, void*) {
  job_of_memory()->exit_handlers.run(ExitHandlers::List::exit, status);
}

// Destroys the thread_local objects of the calling thread.
void destroy_thread_objects() noexcept {
  const auto destroy = reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, "__call_tls_dtors"));
  if (destroy != nullptr) destroy();
}

void destroy_shared_objects(const Job& job) {
  std::vector<link_map*> objects = linked_objects();
  std::erase_if(objects, [&](const link_map* object) { return !job.choice.is_shared(*object); });
  run_destructors(objects);
}

// Runs after all other handlers, and before the C library writes its buffers.
void end_of_handlers(int status, void*) {
  end_job(status & status_mask);
}

}  // namespace

void register_end_of_job() noexcept {
  process_of_job = process_id();
  ::on_exit(end_of_handlers, nullptr);
}

void run_handlers_at_exit() noexcept {
  ::on_exit(run_handlers, nullptr);
}

void end_job(int status) noexcept {
  Job* const job = job_to_end();
  if (job == nullptr) return;
  const bool together = omp::shut_down(status);
  // Before the launcher learns the status, because it may end the process then; and after the other ranks
  // have stopped, so that an unfinished last line does not pass for a prompt while they are still printing.
  std::fflush(nullptr);
  if (together) {
    job->runtime.synchronization().last_barrier();
    job->runtime.ending().finish(status);
  } else {
    job->runtime.ending().leave(status);
  }
}

void leave_job(int status) noexcept {
  if (Job* const job = job_to_end()) job->runtime.ending().leave(status);
}

void leave_quickly(int status) noexcept {
  current_job()->exit_handlers.run(ExitHandlers::List::quick_exit, status);
  leave_job(status & status_mask);
  exit_process(status);
}

void leave_other_rank(int status) noexcept {
  Job& job = *current_job();
  destroy_thread_objects();
  job.exit_handlers.run(ExitHandlers::List::exit, status);
  destroy_shared_objects(job);
  std::fflush(nullptr);
  leave_job(status & status_mask);
  exit_process(status);
}

void leave_worker(int status) noexcept {
  std::fflush(nullptr);
  if (Job* const job = job_to_end()) {
    job->runtime.synchronization().last_barrier();
    job->runtime.ending().finish(status);
  }
  exit_process(status);
}

}  // namespace musubi::image
