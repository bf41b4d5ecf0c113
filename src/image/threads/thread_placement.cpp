#include "image/threads/thread_placement.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "image/process/refusal.h"
#include "os/clock.h"
#include "os/futex.h"

namespace musubi::image {

ThreadCounts::ThreadCounts(omp::ThreadsOfRanks shares, std::uint32_t ranks, std::uint32_t most)
    : shares_(std::move(shares)), most_(most), threads_(ranks) {
  threads_[0] = 1;  // main
}

// Compares quotients.
bool ThreadCounts::is_less_loaded(std::uint32_t one, std::uint32_t other) const {
  const std::uint64_t here = threads_[one], there = threads_[other];
  return here * shares_.on(other) < there * shares_.on(one);
}

std::uint32_t ThreadCounts::add() {
  const auto ranks = static_cast<std::uint32_t>(threads_.size());
  std::uint32_t found = ranks;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (threads_[rank] >= most_) continue;
    const bool has_room = threads_[rank] < shares_.on(rank);
    if (has_room || found == ranks || is_less_loaded(rank, found)) found = rank;
    if (has_room) break;
  }
  if (found != ranks) ++threads_[found];
  return found;
}

void ThreadCounts::remove(std::uint32_t rank) {
  MUSUBI_CHECK(threads_[rank] != 0);
  --threads_[rank];
}

void ThreadPlacement::start(runtime::Runtime& runtime) {
  runtime_ = &runtime;
  spreads_ = runtime.settings().pthreads && runtime.ranks() > 1;
  if (!spreads_) return;
  calls_.start(runtime, procedures::thread_placement, *this);
  runtime.threads().expect_outsiders();
  if (runtime.self() != Rank{0}) return;
  const std::size_t most = runtime.memory().layout().stack_slots_per_rank / 2;
  counts_ = std::make_unique<ThreadCounts>(omp::ThreadsOfRanks(runtime.settings(), runtime.ranks()),
                                           runtime.ranks(), static_cast<std::uint32_t>(most));
}

void ThreadPlacement::open() noexcept {
  is_open_.store(1);
  os::futex_wake(is_open_);
}

std::uint32_t ThreadPlacement::take_place() noexcept {
  const std::lock_guard held(counting_);
  return counts_->add();
}

void ThreadPlacement::give_back_place(std::uint32_t rank) noexcept {
  const std::lock_guard held(counting_);
  counts_->remove(rank);
}

void ThreadPlacement::give_back_own_place() noexcept {
  calls_.at<&ThreadPlacement::give_back_place>(Rank{0}, runtime_->self().value);
}

int ThreadPlacement::create(pthread_t* thread, const pthread_attr_t* attributes,
                            const ThreadWork& work) noexcept {
  if (!has_stack_of_job(attributes)) return create_program_thread(thread, attributes, work);
  const auto place = static_cast<std::uint32_t>(calls_.at<&ThreadPlacement::take_place>(Rank{0}));
  const bool found = place < runtime_->ranks();
  const int error = found ? create_at(Rank{place}, thread, attributes, work) : EAGAIN;
  if (error != 0 && found) calls_.at<&ThreadPlacement::give_back_place>(Rank{0}, place);
  if (error == EAGAIN) {
    report_refused_call(
        "pthread_create was refused: no rank can make another thread, for want of a stack in the shared "
        "range "
        "or by the system's limits",
        "start fewer threads at a time, lower MUSUBI_STACK_BYTES, or raise `ulimit -u`");
  }
  return error;
}

// The new thread acquires what is released here.
int ThreadPlacement::create_at(Rank place, pthread_t* thread, const pthread_attr_t* attributes,
                               const ThreadWork& work) noexcept {
  if (place == runtime_->self()) return create_placed_thread(thread, attributes, work, *this);
  const auto channel = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const CarriedThread carried = CarriedThread::from_here(work, attributes, channel);
  runtime_->synchronization().release(channel);
  pthread_t made{};
  const auto error = static_cast<int>(calls_.at<&ThreadPlacement::create_here>(place, carried, made));
  if (error == 0) *thread = made;
  return error;
}

// On a thread of the runtime: the program's signals are blocked here, until the new thread has its own mask.
int ThreadPlacement::create_here(const CarriedThread& carried, pthread_t& made) noexcept {
  while (is_open_.load() == 0) os::futex_wait(is_open_, 0);
  return create_carried_thread(&made, carried, *this);
}

int ThreadPlacement::count_here(ThreadCount& count) noexcept {
  count = count_program_threads();
  return 0;
}

ThreadPlacement::Sum ThreadPlacement::sum_of_ranks() noexcept {
  Sum sum;
  for (std::uint32_t rank = 0; rank < runtime_->ranks(); ++rank) {
    ThreadCount count;
    calls_.at<&ThreadPlacement::count_here>(Rank{rank}, count);
    sum.running += count.running;
    sum.begun += count.begun;
  }
  return sum;
}

// A thread may make another one at a rank that was asked before, and end before its own rank is asked: two
// sums without a thread must agree.
void ThreadPlacement::wait_for_all() noexcept {
  constexpr std::uint64_t first_pause_ns = 100'000, longest_pause_ns = 10'000'000;
  wait_for_program_threads();
  if (!spreads_) return;
  Sum before{1, 0};
  for (std::uint64_t pause_ns = first_pause_ns;; pause_ns = std::min(2 * pause_ns, longest_pause_ns)) {
    const Sum now = sum_of_ranks();
    if (now.running == 0 && now == before) return;
    before = now;
    if (now.running != 0) os::sleep_ns(pause_ns);
  }
}

}  // namespace musubi::image
