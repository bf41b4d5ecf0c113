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

Pool::Worker* Pool::take_idle() {
  lock_.lock();
  Worker* const worker = idle_;
  if (worker != nullptr) idle_ = worker->next;
  lock_.unlock();
  if (worker == nullptr) return nullptr;
  worker->next = nullptr;
  busy_.fetch_add(1, std::memory_order_relaxed);
  return worker;
}

Pool::Worker& Pool::take() {
  if (Worker* const worker = take_idle()) return *worker;
  busy_.fetch_add(1, std::memory_order_relaxed);
  return create();
}

void Pool::give_back(Worker* first, Worker* last, std::uint32_t count) {
  lock_.lock();
  last->next = idle_;
  idle_ = first;
  lock_.unlock();
  busy_.fetch_sub(count, std::memory_order_relaxed);
}

Pool::Worker& Pool::create() {
  const std::uint32_t number = threads_.fetch_add(1);
  if (number >= threads_max) {
    end_job(runtime_,
            "the teams need more than 4096 threads on one rank: ask for fewer threads, or run more ranks");
  }
  runtime_.threads().set_count(number + 1);
  Worker* worker = make_private<Worker>();
  worker->pool = this;
  worker->number = number;
  worker->is_bound = os::has_binding();
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
  return *worker;
}

void* Pool::run(void* argument) {
  auto& worker = *static_cast<Worker*>(argument);
  Pool& pool = *worker.pool;
  pool.runtime_.threads().attach();
  runtime::name_thread(runtime::ThreadRole::team, worker.number);
  adopt_stack(worker.stack, __builtin_frame_address(0));
  if (worker.is_bound) os::note_bound_thread();
  note_stack(__builtin_frame_address(0));
  events::thread_begins(events::ThreadKind::worker);
  for (std::uint32_t served = 0;; ++served) {
    {
      const runtime::Waiting wait(runtime::Wait::region);
      while (worker.orders.load(std::memory_order_acquire) == served)
        pool.runtime_.threads().wait_local(&worker.orders, served);
    }
    if (worker.team == nullptr) {
      events::thread_ends();
    } else {
      pool.part_(*worker.team, worker.index);
    }
    note_stack(__builtin_frame_address(0));
    Crew& crew = *worker.crew;
    const std::uint32_t expected = crew.expected_;
    // Afterwards the thread may belong to another crew.
    if (crew.done_.fetch_add(1, std::memory_order_acq_rel) + 1 == expected)
      pool.runtime_.threads().wake_local(&crew.done_);
  }
}

void Crew::add(Pool::Worker& worker) {
  worker.crew = this;
  (first_ == nullptr ? first_ : last_->next) = &worker;
  last_ = &worker;
  ++members_;
}

void Crew::reserve(std::uint32_t members) {
  while (members_ < members) add(pool_.take());
}

void Crew::end_threads() {
  while (Pool::Worker* const worker = pool_.take_idle()) add(*worker);
  start(nullptr, members_);
  finish(members_, [] { return false; });
}

void Crew::disband() {
  if (first_ == nullptr) return;
  pool_.give_back(first_, last_, members_ - 1);
  first_ = last_ = nullptr;
  members_ = 1;
}

void Crew::start(Team* team, std::uint32_t members) {
  if (members <= 1) return;
  expected_ = members - 1;
  done_.store(0, std::memory_order_relaxed);
  Pool::Worker* worker = first_;
  for (std::uint32_t index = 1; index < members; ++index, worker = worker->next) {
    worker->team = team;
    worker->index = index;
    worker->orders.store(worker->orders.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    pool_.runtime_.threads().wake_local(&worker->orders);
  }
}

}  // namespace musubi::omp
