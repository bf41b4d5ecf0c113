#include "omp/pool.h"

#include <pthread.h>

#include <cstring>
#include <string>

#include "base/check.h"
#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/thread.h"
#include "os/binding.h"
#include "runtime/api/thread_end.h"
#include "runtime/threads/tracing.h"
#include "runtime/threads/waiting.h"

namespace musubi::omp {

Pool::Worker* Pool::take_idle() {
  const Held held(lock_);
  Worker* const worker = idle_;
  if (worker == nullptr) return nullptr;
  idle_ = worker->next_;
  worker->next_ = nullptr;
  busy_.fetch_add(1, std::memory_order_relaxed);
  return worker;
}

Pool::Worker& Pool::take() {
  if (Worker* const worker = take_idle()) return *worker;
  busy_.fetch_add(1, std::memory_order_relaxed);
  return create();
}

void Pool::give_back(Worker* first, Worker* last, std::uint32_t count) {
  const Held held(lock_);
  last->next_ = idle_;
  idle_ = first;
  busy_.fetch_sub(count, std::memory_order_relaxed);
}

Pool::Worker& Pool::make_worker() {
  {
    const Held held(lock_);
    if (Worker* const worker = ended_) {
      ended_ = worker->next_;
      worker->next_ = nullptr;
      return *worker;
    }
  }
  const std::uint32_t number = numbers_.fetch_add(1);
  if (number >= threads_max) {
    end_job(runtime_,
            "the teams need more than 4096 threads on one rank: ask for fewer threads, or run more ranks");
  }
  auto* const worker = make_private<Worker>();
  worker->pool_ = this;
  worker->number_ = number;
  return *worker;
}

Pool::Worker& Pool::create() {
  Worker* const worker = &make_worker();
  runtime_.threads().set_count(threads_.fetch_add(1) + 1);
  worker->is_bound_ = os::has_binding();
  worker->stack_ = runtime_.threads().take_stack();
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  // The C library puts the thread's TLS on the stack that it is given: this makes threadprivate data
  // reachable by address from other ranks (copyin).
  pthread_attr_setstack(&attributes, worker->stack_.low,
                        static_cast<std::size_t>(worker->stack_.high - worker->stack_.low));
  const int error = pthread_create(&worker->thread_, &attributes, &Pool::run, worker);
  pthread_attr_destroy(&attributes);
  if (error != 0) {
    end_job(runtime_, std::string("cannot create a thread of the team: ") + std::strerror(error) +
                          "; raise the limit on processes (ulimit -u) or ask for fewer threads");
  }
  return *worker;
}

void Pool::end_idle() {
  Crew crew(*this);
  while (Worker* const worker = take_idle()) {
    worker->leaves_ = true;
    crew.add(*worker);
  }
  crew.start(nullptr, crew.members_);
  std::uint32_t ended = 0;
  for (Worker* worker = crew.first_; worker != nullptr; ++ended) {
    const int error = pthread_join(worker->thread_, nullptr);
    MUSUBI_CHECK(error == 0, "pthread_join: error %d", error);
    runtime_.threads().give_back_stack(worker->stack_);
    worker->leaves_ = false;
    Worker* const next = worker->next_;
    const Held held(lock_);
    worker->next_ = ended_;
    ended_ = worker;
    worker = next;
  }
  busy_.fetch_sub(ended, std::memory_order_relaxed);
  threads_.fetch_sub(ended);
}

void* Pool::run(void* argument) {
  auto& worker = *static_cast<Worker*>(argument);
  Pool& pool = *worker.pool_;
  pool.runtime_.threads().attach();
  runtime::name_thread(runtime::ThreadRole::team, worker.number_);
  adopt_stack(worker.stack_, __builtin_frame_address(0));
  if (worker.is_bound_) os::note_bound_thread();
  note_stack(__builtin_frame_address(0));
  events::thread_begins(events::ThreadKind::worker);
  while (true) {
    {
      const runtime::Waiting wait(runtime::Wait::region);
      while (worker.orders_.load(std::memory_order_acquire) == worker.served_)
        pool.runtime_.threads().wait_local(&worker.orders_, worker.served_);
    }
    if (worker.team_ == nullptr) {
      events::thread_ends();
      const bool leaves = worker.leaves_;
      worker.count_as_done();
      if (leaves) break;
    } else {
      pool.part_(*worker.team_, worker.index_, worker);
    }
    note_stack(__builtin_frame_address(0));
  }
  os::note_end_of_thread();
  runtime::detach_at_end(pool.runtime_.threads());
  return nullptr;
}

void Pool::Worker::count_as_done() {
  ++served_;
  note_stack(__builtin_frame_address(0));
  Crew& crew = *crew_;
  Bell* const bell = bell_.load(std::memory_order_relaxed);
  const std::uint32_t expected = crew.expected_;
  // Afterwards the thread may belong to another crew.
  if (crew.done_.fetch_add(1, std::memory_order_acq_rel) + 1 != expected) return;
  if (is_resting_.load(std::memory_order_relaxed)) {
    bell->ring();
  } else {
    pool_->runtime_.threads().wake_local(&crew.done_);
  }
}

void Crew::add(Pool::Worker& worker) {
  worker.crew_ = this;
  (first_ == nullptr ? first_ : last_->next_) = &worker;
  last_ = &worker;
  ++members_;
}

void Crew::reserve(std::uint32_t members) {
  while (members_ < members) add(pool_.take());
}

void Crew::tell_ends() {
  while (Pool::Worker* const worker = pool_.take_idle()) add(*worker);
  start(nullptr, members_);
  while (!are_done(members_)) {
    const std::uint32_t done = done_.load(std::memory_order_acquire);
    if (!are_done(members_)) pool_.runtime_.threads().wait_local(&done_, done);
  }
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
  for (std::uint32_t index = 1; index < members; ++index, worker = worker->next_) {
    worker->team_ = team;
    worker->index_ = index;
    worker->orders_.store(worker->orders_.load(std::memory_order_relaxed) + 1);
    if (worker->is_resting_.load()) {
      worker->bell_.load(std::memory_order_relaxed)->ring();
    } else {
      pool_.runtime_.threads().wake_local(&worker->orders_);
    }
  }
}

}  // namespace musubi::omp
