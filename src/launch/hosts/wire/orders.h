// Encodes and decodes structured messages (CBOR). Any fault of the bytes is an error, without further
// defence: both sides have the same version, and the channel is the user's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bootstrap/local/invitation.h"
#include "launch/job_control.h"
#include "launch/launch_plan.h"
#include "launch/local/thread_states.h"

namespace musubi::launch {

// The Musubi of a proxy. Launcher and proxies must be equal.
struct Greeting {
  std::string version;
  std::string build;  // of the command's file
  bool operator==(const Greeting&) const = default;
};

// A property of a host that must be the same on all hosts.
struct Fact {
  std::string subject;  // "the program /home/ada/heat"
  std::string value;    // "build id 12ab..."
  std::string remedy;
};

// The task of a proxy.
struct JobOrder {
  std::string host;                      // as named by the user
  std::string folder;                    // working directory
  std::string program;                   // an absolute path
  std::vector<std::string> arguments;    // the first is the program's name
  std::vector<std::string> environment;  // of the ranks, complete
  std::uint64_t stack_bytes = 0;         // RLIMIT_STACK
  std::uint32_t file_mask = 0;           // umask
  std::uint64_t ignored_signals = 0;     // bit n-1 for signal n
  std::uint32_t ranks = 1;               // of the job
  RankRange here;
  bootstrap::local::Welcome welcome;
  std::string bind;  // the setting
  std::uint32_t threads_per_rank = 1;
  std::uint64_t events_per_thread = 0;  // kept for a trace; 0: no trace
  bool label_output = false;
  bool plain = false;
  bool started_by_other = false;  // by a launcher that signals all of its processes (proxy.h)
  bool examine = false;           // no job: the facts are for `musubi doctor`
  std::chrono::nanoseconds host_timeout{0};
  std::chrono::nanoseconds start_timeout{0};
};

// Of Greeting, JobOrder, Endings, std::vector<Fact> and std::vector<RankState>.
template <class T>
std::string encode(const T& message);
template <class T>
Result<T> decode(std::string_view bytes);

}  // namespace musubi::launch
