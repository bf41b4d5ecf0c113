#include <memory>
#include <optional>
#include <span>
#include <string>

#include "checks/contract.h"
#include "checks/notes.h"
#include "coherence/protocol.h"
#include "os/clock.h"
#include "os/memory.h"
#include "remote_lock/queue_lock.h"
#include "runtime/api/runtime.h"
#include "runtime/job/faults.h"
#include "runtime/job/job_checks.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_coordination.h"
#include "runtime/job/job_devices.h"
#include "runtime/job/job_ending.h"
#include "runtime/job/job_global_memory.h"
#include "runtime/job/job_memory.h"
#include "runtime/job/job_messages.h"
#include "runtime/job/job_policies.h"
#include "runtime/job/job_remote_calls.h"
#include "runtime/job/job_room.h"
#include "runtime/job/job_segments.h"
#include "runtime/job/job_synchronization.h"
#include "runtime/job/job_task_travel.h"
#include "runtime/job/job_threads.h"
#include "runtime/job/job_words.h"
#include "runtime/job/one_memory.h"
#include "runtime/job/service_thread.h"
#include "runtime/job/static_data.h"
#include "runtime/job/statistics.h"
#include "runtime/job/verification.h"
#include "runtime/start/compare_settings.h"
#include "runtime/start/reservation.h"
#include "runtime/threads/tracing.h"

namespace musubi::runtime {
namespace {

// The composition root: constructs the parts of a rank, in order, and owns them.
// The first base of JobRuntime: Runtime refers to it.
struct OwnContext {
  JobContext job;
};

class JobRuntime final : private OwnContext, public Runtime {
 public:
  JobRuntime(const config::Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
             AddressPlan plan, std::span<const SharedRange> globals,
             std::span<const PrivateBytes> private_bytes, bool one_memory);
  ~JobRuntime() override;
  // The part of start() that can fail.
  Result<void> open();

 private:
  // The parts that use the protocol, in order of dependence.
  struct Parts {
    Parts(JobContext& job, JobDevices& devices, StaticData& static_data, coherence::Protocol& protocol,
          remote_lock::Grants& grants, coherence::PageManagers* page_managers,
          const coherence::RaceLog& races);

    JobWords words;
    JobThreads threads;
    JobSynchronization synchronization;
    JobCoordination coordination;
    JobRoom room;
    std::optional<Verification> verification;
    JobChecks checks;
    JobMemory memory;
    JobMessages messages;
    JobRemoteCalls calls;
    JobTaskTravel travel;
    Statistics statistics;
    JobEnding ending;
    JobGlobalMemory global_memory;
    JobSegments segments;
    ServiceThread service;
  };

  void start_threads();

  JobDevices devices_;
  Faults faults_;
  StaticData static_data_;
  JobPolicies policies_;
  std::optional<Parts> parts_;  // from open() on
};

constexpr int status_of_failed_start = 125;

// Result: log2 of the granule; none if no object of the program has checks, or they are to do nothing.
Result<std::optional<unsigned>> open_compiled_checks(const config::Settings& settings) {
  if (settings.checks == "verify" && settings.threads_per_rank > 1)
    return Error{"checks=verify is for ranks with one thread: give -t 1, and more ranks"};
  auto granule = checks::common_granule(checks::checked_objects());
  if (!granule || !granule.value()) return granule;
  if (auto opened = checks::open_contract(*granule.value()); !opened) return opened.error();
  if (settings.checks == "off") return std::optional<unsigned>();
  return granule;
}

std::optional<Verification> verification_of(JobContext& job, JobDevices& devices) {
  if (devices.verifying_vm() == nullptr) return std::nullopt;
  return std::optional<Verification>(std::in_place, job, *devices.verifying_vm(), devices.vm().system_view());
}

}  // namespace

Result<std::unique_ptr<Runtime>> Runtime::start(const config::Settings& settings,
                                                std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                                                const SharedFromStart& shared) {
  // The settings, and a character that tells whether the rank's host commits strictly.
  auto told = bootstrap->all_gather(collective_settings(settings) + (os::commits_strictly() ? 's' : '-'));
  if (!told) return told.error();
  bool some_commit_strictly = false;
  for (std::string& of_rank : told.value()) {
    some_commit_strictly = some_commit_strictly || of_rank.back() == 's';
    of_rank.pop_back();
  }
  if (const std::string difference = settings_difference(told.value()); !difference.empty()) {
    // Rank 0 reports for all ranks, unless it sees no difference.
    if (bootstrap->self() != Rank{0})
      os::sleep_ns(static_cast<std::uint64_t>(settings.start_timeout.count()));
    bootstrap->abort(status_of_failed_start, difference);
  }
  // A single rank leaves its globals in place.
  const std::span<const SharedRange> globals =
      bootstrap->ranks() == 1 ? std::span<const SharedRange>() : shared.globals;
  const Mappers mappers{bootstrap->ranks(), bootstrap->hosts().most_together(), some_commit_strictly};
  bootstrap::Bootstrap& place = *bootstrap;
  auto plan = AddressPlan::make(settings, mappers, globals, shared.adds_segments);
  if (!plan && place.ranks() > 1) place.abort(status_of_failed_start, plan.error().message);
  if (!plan) return plan.error();
  // Limits of this host, or set by a wrapper of the program, are unknown to the launcher.
  const Result<void> fits = fits_limits(reservation_of(plan.value()));
  if (!fits && place.ranks() > 1) place.abort(status_of_failed_start, fits.error().message);
  if (!fits) return fits.error();
  add_open_files(place.ranks());
  const Result<bool> one_memory = has_one_memory(settings, place, shared);
  if (!one_memory && place.ranks() > 1) place.abort(status_of_failed_start, one_memory.error().message);
  if (!one_memory) return one_memory.error();
  auto runtime = std::make_unique<JobRuntime>(settings, std::move(bootstrap), std::move(plan).value(),
                                              globals, shared.private_bytes, one_memory.value());
  if (auto opened = runtime->open(); !opened) {
    if (place.ranks() > 1) place.abort(status_of_failed_start, opened.error().message);
    return opened.error();
  }
  return std::unique_ptr<Runtime>(std::move(runtime));
}

JobRuntime::JobRuntime(const config::Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                       AddressPlan plan, std::span<const SharedRange> globals,
                       std::span<const PrivateBytes> private_bytes, bool one_memory)
    : OwnContext{JobContext(settings, std::move(bootstrap), std::move(plan), one_memory)},
      Runtime(job.self, job.bootstrap->hosts(), job.settings, job.counters),
      devices_(job),
      faults_(job),
      static_data_(job, globals, private_bytes),
      policies_(job, devices_) {}

JobRuntime::Parts::Parts(JobContext& job, JobDevices& devices, StaticData& static_data,
                         coherence::Protocol& protocol, remote_lock::Grants& grants,
                         coherence::PageManagers* page_managers, const coherence::RaceLog& races)
    : words(devices.fabric(), job.counters, job.control.team_words),
      threads(job, devices, protocol),
      synchronization(job, devices, threads, words, protocol, grants),
      coordination(job, devices, threads, protocol, grants, synchronization),
      room(job, devices, protocol, synchronization.flags()),
      verification(verification_of(job, devices)),
      checks(job, threads, protocol, synchronization.flags(), room, devices.block_states(),
             verification ? &*verification : nullptr),
      memory(job, devices, static_data, protocol, words, synchronization, checks),
      messages(devices.fabric(), threads),
      calls(job, devices.fabric(), threads),
      travel(job, devices, threads, protocol, synchronization, calls),
      statistics(job, words, synchronization, races, devices.vm_driver()),
      ending(job, devices.fabric(), statistics),
      global_memory(devices.fabric(), devices.files().global(), job.plan.global_bytes),
      segments(job, devices, threads, protocol, synchronization, page_managers),
      service(job, devices, messages, calls, ending) {}

JobRuntime::~JobRuntime() {
  checks::detach();
  if (!parts_) return;
  parts_->room.stop();
  parts_->travel.stop();
  parts_->synchronization.stop_background();
}

Result<void> JobRuntime::open() {
  const std::string prefix = "rank " + std::to_string(job.self.value);
  set_check_prefix(prefix.c_str());
  start_tracing(job.bootstrap->event_log());
  if (auto found = job.find_host(); !found) return found;
  auto checked = open_compiled_checks(job.settings);
  if (!checked) return checked.error();
  if (auto opened = devices_.open(faults_, checked.value()); !opened) return opened;
  static_data_.open(devices_.vm());
  if (auto made = policies_.open(static_data_.private_parts()); !made) return made;
  Parts& parts = parts_.emplace(job, devices_, static_data_, policies_.protocol(), policies_.grants(),
                                policies_.page_managers(), policies_.races());
  faults_.resolve_by(parts.synchronization.flags(), parts.threads, parts.words, parts.room,
                     parts.verification ? &*parts.verification : nullptr);
  give({.memory = &parts.memory,
        .synchronization = &parts.synchronization,
        .coordination = &parts.coordination,
        .words = &parts.words,
        .threads = &parts.threads,
        .messages = &parts.messages,
        .remote_calls = &parts.calls,
        .ending = &parts.ending,
        .global_memory = &parts.global_memory,
        .segments = &parts.segments,
        .task_travel = &parts.travel,
        .checks = &parts.checks});
  if (checked.value()) checks::attach(parts.checks);
  // No rank may send before all ranks listen.
  if (auto all = job.bootstrap->all_gather("listening"); !all) return all.error();
  parts.threads.attach();
  start_threads();
  return {};
}

// The runtime's own threads block the program's signals.
void JobRuntime::start_threads() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  parts_->service.start();
  parts_->synchronization.start_background();
  parts_->room.start();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace musubi::runtime
