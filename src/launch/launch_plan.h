// The plan of a job: the program to start, its arguments, environment and cores, and how the slots of its
// hosts are divided into processes and threads. No I/O.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "bootstrap/local/invitation.h"
#include "trace/event_log.h"

namespace musubi::launch {

// Symbolic names for addresses of a running rank, for the launcher's reports.
class Places {
 public:
  virtual ~Places() = default;
  // The place of an instruction: "function (file.c:12)", or less if less is known, at least the address.
  virtual std::string code(std::uintptr_t address) = 0;
  // The name of a variable, or an empty text.
  virtual std::string data(std::uintptr_t address) = 0;
};

using FindPlaces = std::function<std::unique_ptr<Places>(pid_t process)>;

// Receives the logs of all ranks, by rank. Times count from `zero_ns` (os::monotonic_ns).
using WriteTrace = std::function<void(std::span<const trace::EventLog> logs, std::uint64_t zero_ns)>;

// Ranks with consecutive numbers.
struct RankRange {
  std::uint32_t first = 0;
  std::uint32_t count = 1;

  Rank operator[](std::uint32_t index) const { return Rank(first + index); }
  std::uint32_t index(Rank rank) const { return rank.value - first; }
  bool holds(Rank rank) const { return rank.value >= first && rank.value - first < count; }
};

struct LaunchPlan {
  std::string program;                   // path of the file to execute
  std::vector<std::string> arguments;    // the first is the program's name
  std::vector<std::string> environment;  // `NAME=value`; the invitation is added for each rank
  std::uint32_t ranks = 1;               // of the job
  RankRange here;                        // the ranks that are started on this host
  bootstrap::local::Welcome welcome;     // for each of them
  // The processors to which each rank of this host binds its threads; empty: no rank is bound.
  std::vector<std::vector<std::uint32_t>> processors;
  bool label_output = false;
  bool plain = false;  // a program that need not join the job
  std::chrono::nanoseconds abort_timeout{0};
  std::chrono::nanoseconds stall_report{0};  // 0: never
  FindPlaces find_places;                    // optional; without it reports show addresses
  std::size_t events_per_thread = 0;         // kept for a trace; 0: no trace
  WriteTrace write_trace;                    // called after all ranks have ended
};

// A host that offers slots, which are divided into processes and threads.
struct HostSlots {
  std::string name;  // for the rsh command; may begin with a user, as in `ada@h1`
  std::uint32_t slots = 1;
};

// The processes of a host, which are ranks with consecutive numbers.
struct HostRanks {
  std::string name;
  RankRange ranks;
  std::vector<std::uint32_t> threads;  // by process
};

struct ProcessRule {
  std::optional<std::uint32_t> per_host;  // processes that share its slots' threads; unset: one per slot
  std::uint32_t threads_per_slot = 1;
};

// Fills the slots host by host, and divides them into processes; leaves out hosts without any. Without
// `slots`: uses all slots of the hosts. A host with fewer threads than `per_host` gets a process for each
// thread. Errors: more slots than the hosts have, or more processes than a job may have.
Result<std::vector<HostRanks>> place_on_hosts(const std::vector<HostSlots>& hosts,
                                              std::optional<std::uint32_t> slots, const ProcessRule& rule);

std::uint32_t ranks_of(const std::vector<HostRanks>& hosts);
// By rank of the job.
std::vector<std::uint32_t> threads_of(const std::vector<HostRanks>& hosts);

// The secret of a job, by which connections between its ranks are authenticated: 32 new random bytes from the
// kernel. They are passed to ranks only through inherited sockets: never in
// arguments, the environment or a file. Errors: the kernel provides none.
Result<std::string> make_secret();

}  // namespace musubi::launch
