// What SMS keeps of this process, between sms_startup and sms_shutdown. C functions have no argument that
// could carry it, so this is where the one global pointer lies. The job is that of musubi.h, which
// sms_startup joins unless the program has: the interfaces go together in one program.
#pragma once

#include <pthread.h>

#include <bitset>

#include "base/ids.h"
#include "runtime/api/runtime.h"
#include "sms/page_managers.h"
#include "sms/shared_memory.h"

namespace musubi::sms {

struct Process {
  Process(runtime::Runtime& runtime, bool owns_job);

  runtime::Runtime& runtime;
  const bool owns_job;     // sms_startup has joined it, so sms_shutdown leaves it
  const pthread_t thread;  // the one that the program calls on
  SharedMemory memory;
  PageManagers page_managers;
  std::bitset<runtime::Synchronization::lock_count> held_locks;
};

// Null outside of sms_startup and sms_shutdown.
Process* current_process() noexcept;
// For a call of `function`. Ends the job if it comes before sms_startup, behind sms_shutdown, or on another
// thread.
Process& process_in(const char* function);

// Joins the job if the program is not in it; one that asks for others on its command line starts anew. Ends
// the job where this fails, or sms_startup has been called already.
Process& join(int argc, char** argv);
// Late accesses of the program still find their memory.
void let_go() noexcept;

// The process of this number, as a manager in a call of `function`. Ends the job if there is none.
Rank manager_in(const Process& process, const char* function, int number);

}  // namespace musubi::sms
