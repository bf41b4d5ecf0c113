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
  worker->pool = this;
  worker->index = threads_;
  worker->stack = runtime_.threads().take_stack();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // The C library puts the thread's TLS on the stack that it is given: this makes threadprivate data
  // reachable by address from other ranks (copyin).
  pthread_attr_setstack(&attributes, worker->stack.low,
                        static_cast<std::size_t>(worker->stack.high - worker->stack.low));
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
  Pool& pool = *worker.pool;
  pool.runtime_.threads().attach();
  runtime::name_thread(runtime::ThreadRole::team, worker.index);
  adopt_stack(worker.stack, __builtin_frame_address(0));
  os::note_bound_thread();
  note_stack(__builtin_frame_address(0));
  events::thread_begins(events::ThreadKind::worker);
  for (std::uint32_t served = 0;; ++served) {
    {
      const runtime::Waiting wait(runtime::Wait::region);
      while (worker.orders.load(std::memory_order_acquire) == served)
        pool.runtime_.threads().wait_local(&worker.orders, served);
    }
    if (pool.ends_) {
      events::thread_ends();
    } else {
      pool.part_(worker.index);
    }
    note_stack(__builtin_frame_address(0));
    const std::uint32_t expected = pool.expected_;
    if (pool.done_.fetch_add(1, std::memory_order_acq_rel) + 1 == expected)
      pool.runtime_.threads().wake_local(&pool.done_);
  }
}

void Pool::end_threads() {
  ends_ = true;
  start(threads_);
  finish(threads_, [] { return false; });
}

void Pool::start(std::uint32_t members) {
  if (members <= 1) return;
  expected_ = members - 1;
  done_.store(0, std::memory_order_relaxed);
  for (std::uint32_t index = 1; index < members; ++index) {
    auto& orders = workers_[index]->orders;
    orders.store(orders.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    runtime_.threads().wake_local(&orders);
  }
}

}  // namespace musubi::omp
