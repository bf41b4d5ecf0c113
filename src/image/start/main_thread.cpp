#include "image/start/main_thread.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "heap/heap.h"
#include "image/process/refusal.h"
#include "image/process/stack_bounds.h"
#include "image/start/library_loading.h"
#include "image/start/patched_atomics.h"
#include "image/start/program_exit.h"
#include "omp/process.h"
#include "os/binding.h"
#include "os/signal_calls.h"
#include "os/system_call.h"
#include "runtime/api/thread_end.h"
#include "runtime/threads/deferred_handlers.h"
#include "runtime/threads/waiting.h"

namespace musubi::image {
namespace {

struct Program {
  Job& job;
  Main main;
  int argument_count;
  char** arguments;
  Initialiser initialiser;
  runtime::ThreadStack stack;
};

// A thread that represents its rank until the job's OpenMP threads end (omp_pause_resource), and then a new
// one does.
struct Representative {
  Job& job;
  runtime::ThreadStack stack;
  pthread_t predecessor;
  runtime::ThreadStack stack_of_predecessor;
  bool is_bound;
};

// Runs the constructors of the program and of libraries that share its data, on one rank.
void run_shared_constructors(const Program& program) {
  program.job.arguments = {program.argument_count, program.arguments, environ};
  std::vector<link_map*> objects = linked_objects();
  std::erase_if(objects, [&](const link_map* object) { return !program.job.choice.is_shared(*object); });
  run_constructors(objects, program.job.arguments);
  if (program.initialiser != nullptr) program.initialiser(program.argument_count, program.arguments, environ);
}

// Runs when main calls pthread_exit: any other way out of main ends the process.
void tell_end_of_main(void*) {
  current_job()->signals.end_watch();
}

void note_end_of_main(const Job& job) {
  pthread_key_t key;
  const int error = ::pthread_key_create(&key, tell_end_of_main);
  MUSUBI_CHECK(error == 0, "pthread_key_create: error %d", error);
  ::pthread_setspecific(key, &job);
}

pthread_t start_on(const runtime::ThreadStack& stack, Job& job, ThreadStart start, void* argument) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstack(&attributes, stack.low, static_cast<std::size_t>(stack.high - stack.low));
  pthread_t thread;
  const int error = create_plain_thread(&thread, &attributes, start, argument);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) {
    job.runtime.ending().abort(
        1,
        "the main thread could not be started: raise MUSUBI_STACK_BYTES, which must also "
        "hold the program's thread-local storage, or the limit on threads");
  }
  return thread;
}

void begin_representing(Job& job) {
  job.runtime.threads().attach();
  job.main_thread.store(::gettid());
}

void* represent_rank(void* given);

// Serves regions. Returns after it has started another thread for that; the calling thread ends.
void serve(Job& job, const runtime::ThreadStack& stack) {
  if (const auto decision = omp::worker_main()) leave_worker(decision->status);
  auto* const next =
      new Representative{job, job.runtime.threads().take_stack(), ::pthread_self(), stack, os::has_binding()};
  os::note_end_of_thread();
  runtime::detach_at_end(job.runtime.threads());
  start_on(next->stack, job, represent_rank, next);
}

void* represent_rank(void* given) {
  const Representative self = *static_cast<Representative*>(given);
  delete static_cast<Representative*>(given);
  begin_representing(self.job);
  const int error = ::pthread_join(self.predecessor, nullptr);
  MUSUBI_CHECK(error == 0, "pthread_join: error %d", error);
  self.job.runtime.threads().give_back_stack(self.stack_of_predecessor);
  if (self.is_bound) os::note_bound_thread();
  omp::succeed_main_thread(self.stack, __builtin_frame_address(0));
  serve(self.job, self.stack);
  return nullptr;
}

void* run_on_shared_stack(void* given) {
  Program& program = *static_cast<Program*>(given);
  begin_representing(program.job);
  if (program.job.is_first_rank()) {
    note_end_of_main(program.job);
    runtime::BlockedHandlers::note_main();
  }
  omp::adopt_main_thread(program.stack, __builtin_frame_address(0));
  program.job.placement.open();
  if (!program.job.is_first_rank()) {
    serve(program.job, program.stack);
    return nullptr;
  }
  omp::set_before_region([] { current_job()->attributes.send_main_changes(); });
  tell_stack_of_main(__builtin_frame_address(0));
  run_shared_constructors(program);
  omp::start_tool();
  std::exit(program.main(program.argument_count, program.arguments, environ));
}

// The kernel gives a signal of the process to the initial thread if that does not block it; the program
// expects it in main.
void leave_signals_to_others() {
  constexpr os::SignalBits of_this_thread = os::signal_bit(SIGSEGV) | os::signal_bit(SIGBUS) |
                                            os::signal_bit(SIGTRAP) | os::signal_bit(SIGILL) |
                                            os::signal_bit(SIGFPE) | os::signal_bit(SIGABRT);
  os::set_signal_mask(SIG_SETMASK, ~of_this_thread);
}

// A copy of a null-terminated list, list and strings, in this rank's part of the shared heap: the kernel put
// the strings above the initial stack, in private memory, but a program passes their addresses on.
char** copy_strings(char* const* strings) {
  std::size_t count = 0, bytes = 0;
  for (; strings[count] != nullptr; ++count) bytes += std::strlen(strings[count]) + 1;
  const std::size_t list_bytes = (count + 1) * sizeof(char*);
  auto* const memory = static_cast<char*>(heap::process_heap.allocate_shared(list_bytes + bytes));
  if (memory == nullptr) refuse(1, "the shared heap is too small for the arguments: raise MUSUBI_HEAP_BYTES");
  auto** const list = reinterpret_cast<char**>(memory);
  char* next = memory + list_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = std::strlen(strings[i]) + 1;
    list[i] = static_cast<char*>(std::memcpy(next, strings[i], length));
    next += length;
  }
  list[count] = nullptr;
  return list;
}

}  // namespace

void run_program(Job& job, Main main, Initialiser initialiser, int argument_count, char** arguments) {
  // The program may read the result of getenv on any rank. Calls from other ranks change the environments of
  // those ranks and must not touch shared memory.
  if (job.is_first_rank()) environ = copy_strings(environ);
  job.attributes.note_environment();
  patch_atomics(job);
  prepare_library_loads(job);
  job.runtime.memory().share_globals();
  note_program_runs();
  if (job.is_first_rank()) run_handlers_at_exit();
  Program program{
      job, main, argument_count, copy_strings(arguments), initialiser, job.runtime.threads().take_stack()};
  const pthread_t thread = start_on(program.stack, job, run_on_shared_stack, &program);
  leave_signals_to_others();
  os::unbind_thread();
  runtime::close_wait_record();  // main runs on another thread
  job.signals.watch();
  while (!job.is_first_rank()) os::system_call(SYS_pause);
  ::pthread_join(thread, nullptr);
  // main has called pthread_exit: any other way out ends the process.
  job.placement.wait_for_all();
  std::exit(0);
}

}  // namespace musubi::image
