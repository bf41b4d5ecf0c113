#include "runtime/job/one_memory.h"

#include <unistd.h>

#include <sstream>
#include <string>

#include "runtime/job/job_context.h"

namespace musubi::runtime {
namespace {

// The reason against it; empty: none. The same on every rank.
std::string what_forbids_it(const config::Settings& settings, const bootstrap::Bootstrap& bootstrap,
                            const SharedFromStart& shared) {
  if (bootstrap.hosts().count() != 1) return "the ranks are on several hosts";
  if (const std::string_view reason = reason_for_protocol(settings); !reason.empty())
    return std::string(reason);
  if (settings.sms_policy != "auto") return "sms_policy names a protocol";
  return std::string(shared.keeps_memories_apart);
}

// The user wants to see the work of a protocol.
bool watches_protocol(const config::Settings& settings, bootstrap::Bootstrap& bootstrap) {
  return settings.stats || static_cast<bool>(bootstrap.event_log());
}

}  // namespace

std::string_view reason_for_protocol(const config::Settings& settings) {
  if (settings.near_fabric != "shm") return "near_fabric has them talk as over a network";
  if (makes_peers_far(settings))
    return "fabric_delay and fabric_bandwidth are for ranks with memories of their own";
  if (settings.memory_max) return "memory_max is for ranks with memories of their own";
  if (settings.heap_policy != "migrating") return "heap_policy names a protocol";
  if (settings.vm_driver != "auto") return "vm_driver says how a protocol sees accesses";
  if (settings.checks == "verify") return "checks=verify closes memory as a protocol does";
  if (settings.report_races) return "report_races has a protocol look for races";
  return {};
}

Result<bool> has_one_memory(const config::Settings& settings, bootstrap::Bootstrap& bootstrap,
                            const SharedFromStart& shared) {
  if (bootstrap.ranks() == 1) return true;
  if (settings.coherence == "protocol") return false;
  if (settings.coherence == "auto" && watches_protocol(settings, bootstrap)) return false;
  const std::string reason = what_forbids_it(settings, bootstrap, shared);
  if (reason.empty() || settings.coherence == "auto") return reason.empty();
  return Error{"coherence=processor is impossible: " + reason + "; leave it out, or give coherence=protocol"};
}

Result<os::FileDescriptor> open_one_memory(bootstrap::Bootstrap& bootstrap, std::size_t bytes) {
  os::FileDescriptor file;
  if (bootstrap.self() == Rank{0}) {
    auto made = os::create_memory_file("musubi-memory", bytes);
    if (!made) return made.error();
    file = std::move(made).value();
  }
  auto told = bootstrap.all_gather(std::to_string(::getpid()) + " " + std::to_string(file.number()));
  if (!told) return told.error();
  if (bootstrap.self() == Rank{0}) return file;
  std::istringstream place(told.value().front());
  pid_t process = 0;
  int number = -1;
  place >> process >> number;
  return os::open_file_of_process(process, number);
}

}  // namespace musubi::runtime
