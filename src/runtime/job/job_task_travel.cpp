#include "runtime/job/job_task_travel.h"

#include <signal.h>

#include "base/check.h"
#include "os/clock.h"
#include "os/futex.h"
#include "runtime/threads/tracing.h"

namespace musubi::runtime {
namespace {

constexpr ProcedureId parcels{14};

}  // namespace

JobTaskTravel::JobTaskTravel(JobContext& job, JobDevices& devices, JobThreads& threads,
                             coherence::Protocol& protocol, JobSynchronization& synchronization,
                             JobRemoteCalls& calls)
    : job_(job),
      devices_(devices),
      threads_(threads),
      protocol_(protocol),
      synchronization_(synchronization),
      calls_(calls) {}

bool JobTaskTravel::begin(task_stealing::LocalTasks& tasks) {
  MUSUBI_CHECK(stealing_ == nullptr);
  if (job_.ranks == 1 || job_.one_memory || !job_.settings.task_stealing) return false;
  task_stealing::Place place{job_.self, job_.ranks, {}, job_.self.value};
  const bootstrap::Hosts& hosts = job_.bootstrap->hosts();
  for (const Rank peer : hosts.ranks_on(hosts.of(job_.self))) {
    if (peer != job_.self) place.near.push_back(peer);
  }
  order_ = std::make_unique<task_stealing::SignatureOrder>(
      devices_.fabric(), protocol_, synchronization_.flags(),
      std::span(devices_.files().control(), job_.control.bytes),
      sync::SignaturePlace{job_.control.signature, job_.notices_max, {}});
  stealing_ = std::make_unique<task_stealing::Stealing>(
      std::move(place), task_stealing::Habits{job_.settings.steal_always},
      task_stealing::Stealing::Ports{*this, *order_, tasks, *this, job_.counters});
  threads_.add_assistant();
  calls_.serve(parcels, *this);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { work(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return true;
}

void JobTaskTravel::stop() noexcept {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  rings_.fetch_add(1);
  os::futex_wake(rings_);
  thread_.join();
}

std::uint64_t JobTaskTravel::come() {
  return threads_.executor().run(stealing_->come());
}

void JobTaskTravel::pass_on(std::uint64_t meeting) {
  threads_.executor().run(stealing_->pass_on(meeting));
}

// On a thread that serves calls.
runtime::Answer JobTaskTravel::run(Rank caller, std::span<const std::byte> request,
                                   std::span<std::byte> reply) noexcept {
  const std::optional<std::size_t> bytes = threads_.executor().run(stealing_->answer(caller, request, reply));
  if (!bytes) return {-1, 0};
  return {0, *bytes};
}

Task<task_stealing::Calls::Answer> JobTaskTravel::ask(Rank callee, std::span<const std::byte> request,
                                                      std::span<std::byte> answer) {
  const std::uint64_t begin_ns = os::monotonic_ns();
  const runtime::Answer got = co_await calls_.ask(callee, parcels, request, answer);
  MUSUBI_CHECK(got.status == 0, "rank %u refuses a message about tasks", callee.value);
  co_return task_stealing::Calls::Answer{got.bytes, os::monotonic_ns() - begin_ns};
}

void JobTaskTravel::ring() noexcept {
  rings_.fetch_add(1);
  if (sleeps_.load()) os::futex_wake(rings_);
}

void JobTaskTravel::work() {
  os::sleep_exactly();
  name_thread(ThreadRole::background, 1);
  ThreadExecutor executor(devices_.fabric(), job_.counters, ThreadExecutor::Pauses::sleep);
  while (!stopping_.load()) {
    const std::uint32_t seen = rings_.load();
    const std::uint64_t pause_ns = executor.run(stealing_->turn(os::monotonic_ns()));
    if (pause_ns == 0) continue;
    sleeps_.store(true);
    const bool until_bell = pause_ns == task_stealing::Stealing::until_bell;
    if (!stopping_.load()) os::futex_wait(rings_, seen, until_bell ? os::no_timeout : pause_ns);
    sleeps_.store(false);
  }
}

}  // namespace musubi::runtime
