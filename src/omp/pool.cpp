#include "omp/pool.h"

#include <pthread.h>

#include <cstring>
#include <string>

#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/thread.h"
#include "os/binding.h"
#include "runtime/threads/tracing.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {

void Pool::reserve(std::uint32_t members) {
  if (members <= threads_) return;
  if (members > threads_max) {
    end_job(runtime_,
            "a team needs more than 4096 threads on one rank: ask for fewer threads, or run more ranks");
  }
  runtime_.threads().set_count(members);
  while (threads_ < members) create_worker();
}

void Pool::create_worker() {
  Worker* worker = make_private<Worker>();
  worker->pool_ = this;
  worker->index_ = threads_;
  worker->stack_ = runtime_.threads().take_stack();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // The C library puts the thread's TLS on the stack that it is given: this makes threadprivate data
  // reachable by address from other ranks (copyin).
  pthread_attr_setstack(&attributes, worker->stack_.low,
                        static_cast<std::size_t>(worker->stack_.high - worker->stack_.low));
  pthread_t thread;
  const int error = pthread_create(&thread, &attributes, &Pool::run, worker);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    end_job(runtime_, std::string("cannot create a thread of the team: ") + std::strerror(error) +
                          "; raise the limit on processes (ulimit -u) or ask for fewer threads");
  }
  pthread_detach(thread);
  workers_[threads_++] = worker;
}

void* Pool::run(void* argument) {
  auto& worker = *static_cast<Worker*>(argument);
  Pool& pool = *worker.pool_;
  pool.runtime_.threads().attach();
  runtime::name_thread(runtime::ThreadRole::team, worker.index_);
  adopt_stack(worker.stack_, __builtin_frame_address(0));
  os::note_bound_thread();
  note_stack(__builtin_frame_address(0));
  while (true) {
    {
      const runtime::Waiting wait(runtime::Wait::region);
      while (worker.orders_.load(std::memory_order_acquire) == worker.served_)
        pool.runtime_.threads().wait_local(&worker.orders_, worker.served_);
    }
    pool.part_(worker.index_, worker);
    note_stack(__builtin_frame_address(0));
  }
}

void Pool::Worker::count_as_done() {
  ++served_;
  note_stack(__builtin_frame_address(0));
  const std::uint32_t expected = pool_->expected_;
  if (pool_->done_.fetch_add(1, std::memory_order_acq_rel) + 1 == expected) bell_->ring();
}

void Pool::start(std::uint32_t members) {
  if (members <= 1) return;
  expected_ = members - 1;
  done_.store(0, std::memory_order_relaxed);
  for (std::uint32_t index = 1; index < members; ++index) {
    Worker& worker = *workers_[index];
    worker.orders_.store(worker.orders_.load(std::memory_order_relaxed) + 1);
    if (worker.is_resting_.load()) {
      worker.bell_->ring();
    } else {
      runtime_.threads().wake_local(&worker.orders_);
    }
  }
}

}  // namespace musubi::omp
