#include "image/children/fork.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "heap/heap.h"
#include "image/children/child_link.h"
#include "image/process/fork_handlers.h"
#include "image/process/own_rank.h"
#include "image/process/real_function.h"
#include "image/process/refusal.h"
#include "image/threads/program_threads.h"
#include "omp/process.h"
#include "os/cpu.h"
#include "os/errno_kept.h"
#include "os/memory.h"
#include "os/signal_calls.h"
#include "os/system_call.h"
#include "runtime/api/threads.h"

namespace musubi::image {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds look_again(100);

// The link of the thread inside fork_rank's fork, in parent and child. The C library passes no argument to
// its fork handlers.
constinit thread_local ChildLink* link_of_forking_thread = nullptr;

// Offset of the thread's id from its thread pointer in the C library: the place that holds the id in both
// threads.
std::size_t place_of_thread_id(std::uintptr_t one, pid_t id_of_one, std::uintptr_t other, pid_t id_of_other) {
  constexpr std::size_t bytes_searched = 2048;
  for (std::size_t place = 0; place < bytes_searched; place += sizeof(pid_t)) {
    if (*reinterpret_cast<pid_t*>(one + place) == id_of_one &&
        *reinterpret_cast<pid_t*>(other + place) == id_of_other) {
      return place;
    }
  }
  MUSUBI_CHECK(false, "the C library keeps the ids of threads elsewhere");
  __builtin_unreachable();
}

// Continues as the thread that called fork, at its call: its stack and data are now private to this process.
[[noreturn]] void become_caller(ChildLink& link, std::size_t place_of_id) {
  const CallerState& caller = link.caller;
  os::system_call(SYS_sigaltstack, reinterpret_cast<long>(&caller.signal_stack), 0);
  *reinterpret_cast<pid_t*>(caller.thread_pointer + place_of_id) = static_cast<pid_t>(::syscall(SYS_gettid));
  os::set_thread_pointer(caller.thread_pointer);
  ::setcontext(&caller.context);
  __builtin_trap();
}

// Runs on a separate thread, whose stack and data are private: the caller's may be shared mappings, in which
// parent and child would overwrite each other.
void* fork_for_caller(void* given) {
  ChildLink& link = *static_cast<ChildLink*>(given);
  using Fork = pid_t (*)();
  static const auto fork = reinterpret_cast<Fork>(next_definition("fork"));
  const std::size_t place =
      place_of_thread_id(os::thread_pointer(), ::gettid(), link.caller.thread_pointer, link.caller.thread_id);
  link_of_forking_thread = &link;
  const pid_t child = fork();
  if (child == 0) become_caller(link, place);
  link.child = child;  // not in the child, which maps the same words
  link.error = errno;
  return nullptr;
}

// Only the program's own threads take its signals.
class BlockedSignals {
 public:
  BlockedSignals() noexcept
      : before_(os::set_signal_mask(
            SIG_BLOCK, ~(os::signal_bit(SIGSEGV) | os::signal_bit(SIGBUS) | os::signal_bit(SIGTRAP)))) {}
  ~BlockedSignals() { os::set_signal_mask(SIG_SETMASK, before_); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  const os::SignalBits before_;
};

bool is_running(pid_t child) {
  siginfo_t information{};
  const long result = ::syscall(SYS_waitid, P_PID, child, &information, WEXITED | WNOHANG | WNOWAIT, nullptr);
  return result == 0 && information.si_pid == 0;
}

void answer(runtime::Runtime& runtime, ChildLink& link) {
  if (link.question() == ChildLink::Question::usable_bytes) {
    link.answer(heap::process_heap.usable_bytes(reinterpret_cast<void*>(link.address())));
    return;
  }
  runtime.memory().touch(reinterpret_cast<void*>(link.address()), link.bytes(), false);
  link.answer(0);
}

void end_child(runtime::Runtime& runtime, pid_t child) {
  const auto limit = std::chrono::duration_cast<std::chrono::seconds>(runtime.settings().fork_timeout);
  const std::string line =
      "musubi: process " + std::to_string(child) +
      ", made by fork(), has neither started another program nor "
      "ended within " +
      std::to_string(limit.count()) +
      " s, and was ended: a child works on a copy of one rank's memory for a short time only; let it call "
      "exec "
      "at once (or use posix_spawn), start it before the job, or raise MUSUBI_FORK_TIMEOUT\n";
  ::kill(child, SIGKILL);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

// The other threads continue, and the child copies a block only at its first access.
void tell_of_work(const ChildLink& link) {
  if (link.tries_exec.load()) return;
  report_refused_call(
      "a process made by fork() while other threads ran has ended without exec: later writes of these "
      "threads may have been visible in its memory",
      "fork outside of parallel regions and without other threads, or call exec at once");
}

// Answers until the child needs this memory no more.
void serve(runtime::Runtime& runtime, ChildLink& link, bool others_run) {
  const auto limit = Clock::now() + runtime.settings().fork_timeout;
  while (true) {
    switch (link.wait(look_again)) {
      case ChildLink::Event::question:
        answer(runtime, link);
        break;
      case ChildLink::Event::ended:
        return others_run ? tell_of_work(link) : void();
      case ChildLink::Event::nothing:
        if (!is_running(link.child)) return;
        if (Clock::now() > limit) return end_child(runtime, link.child);
    }
  }
}

// The used part of the calling thread's stack and the thread's own data above it, if the stack is shared.
void note_stack(runtime::Runtime& runtime, CallerState& caller, const void* frame) {
  const runtime::Layout& layout = runtime.memory().layout();
  const auto low = reinterpret_cast<std::uintptr_t>(frame);
  const std::size_t all = layout.stack_slot_bytes * layout.stack_slots_per_rank * runtime.ranks();
  caller.stack_low = caller.stack_high = low;
  if (low - layout.stacks_base >= all) return;
  const std::size_t page = os::page_bytes();
  const std::size_t slot = (low - layout.stacks_base) / layout.stack_slot_bytes;
  caller.stack_low = low / page * page - page;
  caller.stack_high = layout.stacks_base + (slot + 1) * layout.stack_slot_bytes;
}

pid_t wait_for_fork(runtime::Runtime& runtime, ChildLink& link) {
  int error = 0;
  const bool others_run = runtime.ranks() > 1 && (omp::is_region_open() || has_program_threads());
  {
    const BlockedSignals blocked;
    pthread_t thread;
    error = create_private_thread(&thread, fork_for_caller, &link);
    if (error == 0) ::pthread_join(thread, nullptr);
  }
  if (error == 0) error = link.child < 0 ? link.error : 0;
  const pid_t child = link.child;
  if (error == 0) serve(runtime, link, others_run);
  link.drop();
  if (error == 0) return child;
  errno = error;
  return -1;
}

}  // namespace

pid_t fork_rank(Descriptors& descriptors, Children& children) noexcept {
  runtime::Runtime& runtime = *own_runtime();
  prepare_fork();
  descriptors.make_all_usable();
  children.note_child();
  Result<ChildLink*> link = ChildLink::make();
  if (!link) {
    end_fork_in_parent();
    errno = ENOMEM;
    return -1;
  }
  CallerState& caller = link.value()->caller;
  caller.thread_pointer = os::thread_pointer();
  caller.thread_id = ::gettid();
  os::system_call(SYS_sigaltstack, 0, reinterpret_cast<long>(&caller.signal_stack));
  caller.signal_stack.ss_flags &= ~SS_ONSTACK;
  note_stack(runtime, caller, __builtin_frame_address(0));
  ::getcontext(&caller.context);
  if (is_child_of_rank()) {  // the child returns from the call above
    runtime::forget_stack();
    end_fork_in_child();
    return 0;
  }
  const pid_t child = wait_for_fork(runtime, *link.value());
  const os::ErrnoKept errno_kept;
  end_fork_in_parent();
  return child;
}

namespace {

constexpr int status_of_refusal = 125;

// In the child: access to the memory of the parent, through the parent's thread that answers.
class ParentMemory final : public runtime::Memory::CopySource, public heap::RemoteHeap {
 public:
  explicit ParentMemory(ChildLink& link) : link_(link) {}
  ChildLink& link() const noexcept { return link_; }

  bool open(std::uintptr_t address, std::size_t bytes) noexcept override {
    std::uint64_t nothing;
    return link_.ask(ChildLink::Question::open, address, bytes, nothing);
  }
  // heap::RemoteHeap: the child releases nothing in its private copy; only the size is asked for.
  void release(Rank, std::uintptr_t, std::size_t) noexcept override {}
  std::size_t usable_bytes(Rank, std::uintptr_t address) noexcept override {
    std::uint64_t bytes = 0;
    link_.ask(ChildLink::Question::usable_bytes, address, 0, bytes);
    return bytes;
  }
  void take_back() noexcept override {}
  bool give_back(std::uintptr_t, std::size_t) noexcept override { return false; }  // the parent owns it

 private:
  ChildLink& link_;
};

// Null in any process that is no such child. Interposed functions have no argument to carry it.
constinit ParentMemory* memory_of_process = nullptr;

[[noreturn]] void refuse_openmp() {
  refuse(status_of_refusal,
         "a child made by fork() has met an OpenMP construct, but has no team: let it call exec at once, or "
         "start the other program with posix_spawn");
}

// Must run before any other handler that may touch shared memory.
void begin_child() {
  runtime::Runtime* const runtime = own_runtime();
  if (runtime == nullptr) return;
  ChildLink* const link = link_of_forking_thread;
  become_child_of_rank();
  if (link == nullptr) {
    refuse(status_of_refusal,
           "a child made inside the C library (daemon, forkpty) would share the memory of the job, and was "
           "ended: use fork and exec, or posix_spawn");
  }
  memory_of_process = new ParentMemory(*link);
  link->enter();
  if (const Result<void> copied = runtime->memory().become_copy(*memory_of_process); !copied) {
    refuse(status_of_refusal, copied.error().message);
  }
  heap::process_heap.set_foreign(*memory_of_process);
  omp::leave_job(refuse_openmp);
  const CallerState& caller = link->caller;
  runtime->memory().touch(reinterpret_cast<void*>(caller.stack_low), caller.stack_high - caller.stack_low,
                          true);
}

}  // namespace

void prepare_for_children() noexcept {
  ::pthread_atfork(nullptr, nullptr, begin_child);
}

void note_exec_of_child() noexcept {
  if (memory_of_process != nullptr) memory_of_process->link().tries_exec.store(true);
}

}  // namespace musubi::image
