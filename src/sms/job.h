// The state of SMS in this process, between sms_startup and sms_shutdown. C functions have no argument that
// could carry it, hence the one global pointer. The job is that of musubi.h, which sms_startup joins unless
// the program has: one program may use both interfaces.
#pragma once

#include <pthread.h>

#include <bitset>
#include <cstdint>
#include <string>

#include "base/ids.h"
#include "runtime/api/runtime.h"
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

// Misuse of sms.h ends the job with a line, since its functions return no errors:
// `<function>: <cause and remedy>`, exit status 1. Any thread, in a job or outside of it.
[[noreturn]] void refuse(const char* function, const std::string& text);
// The same without a function's name: the program's own words.
[[noreturn]] void end_job(const std::string& text);

// A program of sms.h that was started alone may ask for other processes after `--` on its command line.
// `musubi run` then starts it again, with all processes. Returns if the command line has no `--`: then the
// program is one process. Otherwise becomes `musubi run`, with the same process id, or ends with a line.
// Called before other threads exist.
void start_others_if_asked(int argc, char** argv);

}  // namespace musubi::sms
