#include "runtime/job_runtime.h"

#include <signal.h>

#include <string>

#include "coherence/migrating/migrating.h"
#include "runtime/compare_settings.h"
#include "runtime/solo_protocol.h"
#include "runtime/tracing.h"

namespace musubi::runtime {
namespace {

coherence::Parameters parameters_from(const config::Settings& settings, std::size_t notices_max) {
  coherence::Parameters parameters;
  parameters.lease_ticks = settings.lease_ticks;
  parameters.signature_notices_max = notices_max;
  parameters.release_window = settings.release_window;
  parameters.downgrade_after_releases = static_cast<std::uint32_t>(settings.downgrade_after_releases);
  parameters.read_retries_max = static_cast<std::uint32_t>(settings.read_retries_max);
  parameters.leave_unpublished = settings.leave_unpublished;
  parameters.look_after_releases = static_cast<std::uint32_t>(settings.look_after_releases);
  parameters.cached_bytes = settings.cached_bytes;
  parameters.give_back_after_releases = static_cast<std::uint32_t>(settings.give_back_after_releases);
  parameters.run_bytes_max = settings.run_bytes_max;
  parameters.fetches_ahead_max = static_cast<std::uint32_t>(settings.fetches_ahead_max);
  parameters.lease_probe_releases = static_cast<std::uint32_t>(settings.lease_probe_releases);
  parameters.report_races = settings.report_races;
  return parameters;
}

}  // namespace

Result<std::unique_ptr<Runtime>> Runtime::start(const config::Settings& settings,
                                                std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                                                std::span<const SharedRange> globals,
                                                std::span<const PrivateBytes> private_bytes) {
  auto settings_of_ranks = bootstrap->all_gather(collective_settings(settings));
  if (!settings_of_ranks) return settings_of_ranks.error();
  if (const std::string difference = settings_difference(settings_of_ranks.value()); !difference.empty()) {
    if (bootstrap->self() == Rank{0}) bootstrap->abort(125, difference);
    ::pause();  // rank 0 ends the job
  }
  // A single rank keeps its globals where they are.
  if (bootstrap->ranks() == 1) globals = {};
  auto plan = AddressPlan::make(settings, bootstrap->ranks(), globals);
  if (!plan) return plan.error();
  auto runtime = std::make_unique<JobRuntime>(settings, std::move(bootstrap), std::move(plan).value(),
                                              globals, private_bytes);
  if (auto opened = runtime->open(); !opened) return opened.error();
  return std::unique_ptr<Runtime>(std::move(runtime));
}

JobRuntime::JobRuntime(const config::Settings& settings, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                       AddressPlan plan, std::span<const SharedRange> globals,
                       std::span<const PrivateBytes> private_bytes)
    : OwnContext{JobContext(settings, std::move(bootstrap), std::move(plan))},
      Runtime(job.self, job.ranks, job.settings, job.counters),
      devices_(job),
      faults_(job, devices_),
      static_data_(job, globals, private_bytes) {}

JobRuntime::Parts::Parts(JobContext& job, JobDevices& devices, StaticData& static_data,
                         coherence::Protocol& protocol, remote_lock::Grants& grants)
    : words(devices.fabric(), job.counters, job.control.team_words),
      threads(job, devices, protocol),
      synchronization(job, devices, threads, protocol, grants),
      memory(job, devices, static_data, protocol, words, synchronization),
      messages(devices.fabric(), threads),
      calls(job, devices.fabric(), threads),
      statistics(job, words, synchronization, protocol, devices.vm_driver()),
      ending(job, devices.fabric(), statistics),
      service(job, devices, messages, calls, ending) {}

JobRuntime::~JobRuntime() {
  if (parts_) parts_->synchronization.stop_background();
}

Result<void> JobRuntime::open() {
  const std::string prefix = "rank " + std::to_string(job.self.value);
  set_check_prefix(prefix.c_str());
  start_tracing(job.bootstrap->event_log());
  if (auto counted = job.count_cores(); !counted) return counted;
  if (auto opened = devices_.open(faults_); !opened) return opened;
  static_data_.open(devices_.vm());
  devices_.fabric().listen(fabric::MessageKind::lock_granted, &grants_);
  if (auto made = make_protocol(); !made) return made;
  Parts& parts = parts_.emplace(job, devices_, static_data_, *protocol_, grants_);
  faults_.resolve_by(parts.synchronization.flags(), parts.threads, parts.words);
  give({.memory = &parts.memory,
        .synchronization = &parts.synchronization,
        .words = &parts.words,
        .threads = &parts.threads,
        .messages = &parts.messages,
        .remote_calls = &parts.calls,
        .ending = &parts.ending});
  // Nobody may send before everybody listens.
  if (auto all = job.bootstrap->all_gather("listening"); !all) return all.error();
  parts.threads.attach();
  start_threads();
  return {};
}

Result<void> JobRuntime::make_protocol() {
  const vm::Space& space = job.plan.space;
  if (job.ranks == 1) {
    protocol_ = std::make_unique<SoloProtocol>(space, devices_.vm());
    // Stacks are opened one by one, above their guards.
    return devices_.vm().leave_segment_open(job.plan.heap_segment);
  }
  MemoryFiles& files = devices_.files();
  const coherence::RankMemory memory{devices_.vm().system_view(),
                                     files.published(),
                                     files.words(),
                                     files.entries(),
                                     files.control() + job.control.signature,
                                     &files};
  protocol_ = std::make_unique<coherence::Migrating>(
      space, devices_.fabric(), devices_.vm(), job.counters, grants_, memory,
      parameters_from(job.settings, job.notices_max), &static_data_.private_parts());
  return {};
}

// The service thread and the keeper take no signals of the program.
void JobRuntime::start_threads() {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  parts_->service.start();
  parts_->synchronization.start_background();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace musubi::runtime
