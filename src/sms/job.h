// The state of SMS in this process, between sms_startup and sms_shutdown. C functions have no argument that
// could carry it, hence the one global pointer. The job is that of musubi.h, which sms_startup joins unless
// the program has: one program may use both interfaces.
#pragma once

#include <pthread.h>

#include <bitset>

#include "base/ids.h"
#include "runtime/api/runtime.h"
#include "sms/page_managers.h"
#include "sms/shared_memory.h"

namespace musubi::sms {

struct Job {
  Job(runtime::Runtime& runtime, bool owns_job);

  runtime::Runtime& runtime;
  const bool owns_job;     // sms_startup has joined it, so sms_shutdown leaves it
  const pthread_t thread;  // the thread on which the program calls
  SharedMemory memory;
  PageManagers page_managers;
  std::bitset<runtime::Synchronization::lock_count> held_locks;
};

// Null outside of sms_startup and sms_shutdown.
Job* current_job() noexcept;
// For a call of `function`. Ends the job if the call is before sms_startup, after sms_shutdown, or on another
// thread.
Job& job_in(const char* function);

// Joins the job if the program is not in it; a program whose command line asks for other processes is started
// again. Ends the job on failure, or if sms_startup has been called already.
Job& join(int argc, char** argv);
// Late accesses of the program still find their memory.
void let_go() noexcept;

// The process of this number, as a manager in a call of `function`. Ends the job if it does not exist.
Rank manager_in(const Job& job, const char* function, int number);

}  // namespace musubi::sms
