// What all threads of a job over several hosts do: asked of the proxies, put together, told to the user.
//
// Two rounds: a look (the states of all ranks), and, where there is something to report, the lines about
// them, which each proxy writes about its own ranks with the states of all at hand: it has the names of
// places.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/host_link.h"
#include "launch/local/stall_watch.h"

namespace musubi::launch {

class Survey {
 public:
  Survey(std::vector<HostLink>& hosts, std::chrono::nanoseconds patience)
      : hosts_(hosts), watch_(patience), answers_(hosts.size()) {}

  std::optional<std::uint64_t> due_ns() const;
  // A look, when one is due.
  void look_if_due(std::uint64_t now_ns);
  // The user asks.
  void ask();

  // A proxy's answer. Errors: not understood.
  Result<void> take(std::size_t host, const Message& message, std::uint64_t now_ns);
  // A host may have been lost, or be done: nobody waits for its answer.
  void go_on(std::uint64_t now_ns);
  // What is to be told to the user; then empty.
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
