// This process's part in the job: the runtime and what the image hangs on it. Made once, before the program's
// own constructors; never destroyed, because destructors of the program may still use the heap when
// everything else ends.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "heap/heap_messages.h"
#include "heap/mapped_memory.h"
#include "image/attributes.h"
#include "image/children.h"
#include "image/descriptors.h"
#include "image/exit_handlers.h"
#include "image/far_calls.h"
#include "image/held_constructors.h"
#include "image/library_choice.h"
#include "image/library_locks.h"
#include "image/locales.h"
#include "image/mappings.h"
#include "image/named_semaphores.h"
#include "image/processor_times.h"
#include "image/signals.h"
#include "image/streams.h"
#include "image/thread_calls.h"
#include "image/thread_keys.h"
#include "image/timers.h"
#include "runtime/api/runtime.h"

namespace musubi::image {

struct Job {
  Job(runtime::Runtime& of_process, Descriptors& descriptors_of_job, Streams& streams_of_job,
      Attributes& attributes_of_job, LibraryChoice of_program, const ProgramArguments& given)
      : runtime(of_process),
        descriptors(descriptors_of_job),
        streams(streams_of_job),
        attributes(attributes_of_job),
        choice(std::move(of_program)),
        arguments(given) {}

  runtime::Runtime& runtime;
  heap::MappedMemory mapped_memory{heap::process_heap};
  heap::HeapMessages messages{runtime, heap::process_heap, mapped_memory};
  Mappings mappings{runtime, heap::process_heap, mapped_memory, messages};
  Descriptors& descriptors;
  Streams& streams;
  Attributes& attributes;
  Signals signals;
  Timers timers;
  ProcessorTimes processor_times;
  Children children;
  ThreadKeys keys;
  NamedSemaphores named_semaphores;
  ThreadCalls threads;
  FarCalls far_calls;
  ExitHandlers exit_handlers;
  Locales locales;
  LibraryChoice choice;
  LibraryLocks library_locks;
  ProgramArguments arguments;
  // From here on static data is shared: constructors of the program and its libraries run behind that.
  bool program_runs = false;
  std::atomic<pid_t> main_thread{0};  // the kernel's id of the one that runs main, or stands for the rank

  bool is_first_rank() const noexcept { return runtime.self() == Rank{0}; }
};

// Runs the constructors of private libraries, joins the job, reserves the shared space and shares the heap.
// Ends the process with one line when that fails. Collective. Called once, by the initial thread, before the
// constructors of the program and of shared libraries.
Job& join_job(const ProgramArguments& arguments);

// The job of this process; null before join_job, in a process that is no rank, and in a forked child of a
// rank. Any thread, signal-safe.
Job* current_job() noexcept;

// The same while the program runs over several ranks; else null: what the process has for itself is all there
// is. Any thread, signal-safe.
inline Job* job_of_ranks() noexcept {
  Job* const job = current_job();
  return job != nullptr && job->program_runs && job->runtime.ranks() > 1 ? job : nullptr;
}

// In a child made by fork: current_job() is null from now on.
void forget_job() noexcept;

}  // namespace musubi::image
