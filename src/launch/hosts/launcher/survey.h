// The waits of all threads of a job on several hosts: asked of the proxies, merged, reported to the user.
//
// Two rounds: a snapshot (the states of all ranks), and, if there is something to report, the lines about
// them. Each proxy writes those of its own ranks, whose symbols it has, from the states of all ranks.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/launcher/host_link.h"
#include "launch/local/thread_states.h"

namespace musubi::launch {

class ThreadStateSurvey {
 public:
  ThreadStateSurvey(std::vector<HostLink>& hosts, std::chrono::nanoseconds patience)
      : hosts_(hosts), watch_(patience), answers_(hosts.size()) {}

  std::optional<std::uint64_t> due_ns() const;
  // Starts a snapshot if one is due.
  void look_if_due(std::uint64_t now_ns);
  // The user asks for a report.
  void ask();

  // Takes a proxy's answer. Errors: malformed.
  Result<void> take(std::size_t host, const Message& message, std::uint64_t now_ns);
  // Continues without hosts that are lost or done since.
  void go_on(std::uint64_t now_ns);
  // The report for the user, once; then empty.
  std::string take_report();

 private:
  enum class Round { none, look, report };
  struct Answer {
    bool awaited = false;
    std::vector<RankState> states;
    std::string lines;
  };

  void begin(Round round, MessageKind kind, std::string_view body);
  bool complete() const;

  std::vector<HostLink>& hosts_;
  StallWatch watch_;
  std::vector<Answer> answers_;
  Round round_ = Round::none;
  bool asked_ = false;
  std::string heading_, report_;
};

}  // namespace musubi::launch
