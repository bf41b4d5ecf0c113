// The messages with structure, as bytes and back (CBOR). Whatever is wrong with the bytes is an error, and no
// more: both sides are of one version, and the channel is the user's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bootstrap/local/welcome.h"
#include "launch/job_control.h"
#include "launch/launch_plan.h"
#include "launch/local/wait_snapshot.h"

namespace musubi::launch {

// Which Musubi a proxy is of. Launcher and proxies must be equal.
struct Greeting {
  std::string version;
  std::string build;  // of the command's file
  bool operator==(const Greeting&) const = default;
};

// What a host has of something that must be equal on all.
struct Fact {
  std::string subject;  // "the program /home/ada/heat"
  std::string value;    // "build id 12ab..."
  std::string remedy;
};

// What a proxy is to do.
struct JobOrder {
  std::string host;                      // as the user calls it
  std::string folder;                    // to work in
  std::string program;                   // a whole path
  std::vector<std::string> arguments;    // with the program's name as the first
  std::vector<std::string> environment;  // the ranks', in whole
  std::uint64_t stack_bytes = 0;         // RLIMIT_STACK
  std::uint32_t file_mask = 0;           // umask
  std::uint64_t ignored_signals = 0;     // bit n-1 for signal n
  std::uint32_t ranks = 1;               // of the job
  RankRange here;
  bootstrap::local::Welcome welcome;
  std::string bind;  // the setting
  std::uint32_t threads_per_rank = 1;
  std::uint64_t events_per_thread = 0;  // that are kept for a trace; 0: there is none
  bool label_output = false;
  bool plain = false;
  bool started_by_other = false;  // by a launcher that signals all of its processes (proxy.h)
  bool examine = false;           // no job: the facts are what `musubi doctor` says of this host
  std::chrono::nanoseconds host_timeout{0};
  std::chrono::nanoseconds start_timeout{0};
};

std::string encode(const Greeting& greeting);
std::string encode(const JobOrder& order);
std::string encode(const std::vector<Fact>& facts);
std::string encode(const Endings& endings);
std::string encode(const std::vector<RankState>& states);

Result<Greeting> decode_greeting(std::string_view bytes);
Result<JobOrder> decode_order(std::string_view bytes);
Result<std::vector<Fact>> decode_facts(std::string_view bytes);
Result<Endings> decode_endings(std::string_view bytes);
Result<std::vector<RankState>> decode_states(std::string_view bytes);

}  // namespace musubi::launch
