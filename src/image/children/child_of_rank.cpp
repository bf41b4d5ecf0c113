#include "image/children/child_of_rank.h"

#include <pthread.h>

#include <cerrno>

#include "heap/heap.h"
#include "image/process/own_rank.h"
#include "image/process/refusal.h"
#include "omp/process.h"

namespace musubi::image {
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

constinit thread_local ChildLink* link_of_forking_thread = nullptr;

void prepare_for_children() noexcept {
  ::pthread_atfork(nullptr, nullptr, begin_child);
}

void note_exec_of_child() noexcept {
  if (memory_of_process != nullptr) memory_of_process->link().tries_exec.store(true);
}

}  // namespace musubi::image
