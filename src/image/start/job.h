// This process's part in the job: the runtime and the state that the image adds to it. Made once, before the
// program's own constructors; never destroyed, because destructors of the program may use the heap to the
// very end.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include "heap/heap_messages.h"
#include "heap/mapped_memory.h"
#include "image/children/children.h"
#include "image/libraries/held_constructors.h"
#include "image/libraries/library_choice.h"
#include "image/libraries/library_locks.h"
#include "image/memory/mappings.h"
#include "image/objects/attributes.h"
#include "image/objects/descriptors.h"
#include "image/objects/exit_handlers.h"
#include "image/objects/far_calls.h"
#include "image/objects/locales.h"
#include "image/objects/named_semaphores.h"
#include "image/objects/processor_times.h"
#include "image/objects/signals.h"
#include "image/objects/streams.h"
#include "image/objects/timers.h"
#include "image/process/own_rank.h"
#include "image/threads/thread_calls.h"
#include "image/threads/thread_keys.h"
#include "image/threads/thread_placement.h"
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
  ThreadPlacement placement;
  FarCalls far_calls;
  ExitHandlers exit_handlers;
  Locales locales;
  LibraryChoice choice;
  LibraryLocks library_locks;
  ProgramArguments arguments;
  std::atomic<pid_t> main_thread{0};  // kernel's id of the thread that runs main, or represents the rank

  // Whether static data is shared, and constructors of the program and its libraries have begun.
  bool program_runs() const noexcept { return image::program_runs(); }
  bool is_first_rank() const noexcept { return runtime.self() == Rank{0}; }
};

// Runs the constructors of private libraries, joins the job, reserves the shared space and shares the heap.
// Ends the process with a one-line message on failure. Collective. Called once, by the initial thread, before
// the constructors of the program and of shared libraries.
Job& join_job(const ProgramArguments& arguments);

// The job of this process; null before join_job, in a process that is no rank, and in a forked child of a
// rank. Any thread, signal-safe.
Job* current_job() noexcept;

// The job whose memory this process sees: current_job(), or the parent's job in a child of a rank. Any
// thread, signal-safe.
Job* job_of_memory() noexcept;

// current_job() while the program runs over several ranks; otherwise null, because this process is the whole
// program. Any thread, signal-safe.
inline Job* job_of_ranks() noexcept {
  return runs_over_ranks() ? current_job() : nullptr;
}

}  // namespace musubi::image
