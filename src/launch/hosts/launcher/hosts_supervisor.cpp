#include "launch/hosts/launcher/hosts_supervisor.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/in_units.h"
#include "launch/hosts/launcher/refusals.h"
#include "launch/output_sink.h"
#include "os/clock.h"
#include "os/host_name.h"

namespace musubi::launch {
namespace {

constexpr std::uint64_t ms = 1'000'000;

std::vector<std::string> host_of_each_rank(const std::vector<HostLink>& hosts) {
  std::vector<std::string> names;
  for (const HostLink& host : hosts) names.insert(names.end(), host.ranks.count, host.name);
  return names;
}

// "host h2 (ranks 4 to 7)"
std::string describe(const HostLink& host) {
  const std::string first = std::to_string(host.ranks.first);
  const std::string last = std::to_string(host.ranks.first + host.ranks.count - 1);
  return "host " + host.name + (first == last ? " (rank " + first : " (ranks " + first + " to " + last) + ")";
}

}  // namespace

HostsSupervisor::HostsSupervisor(const HostsPlan& plan, UserSignals& signals, std::vector<HostLink>& hosts,
                                 EventCollector* events)
    : plan_(plan),
      signals_(signals),
      hosts_(hosts),
      events_(events),
      progress_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      outputs_(progress_event_.number()),
      control_(JobOutcome(plan.order.ranks, plan.order.plain, host_of_each_rank(hosts)), plan.abort_timeout,
               *this),
      survey_(hosts, plan.order.plain ? std::chrono::nanoseconds{0} : plan.stall_report),
      input_(watcher_, static_cast<std::uint32_t>(Subject::input)),
      heartbeat_(plan.order.host_timeout, os::monotonic_ns()) {
  watch(signals_.descriptor(), Subject::signals, 0);
  watch(progress_event_.number(), Subject::progress, 0);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    hosts_[i].channel.watch(watcher_, static_cast<std::uint32_t>(Subject::channel),
                            static_cast<std::uint32_t>(i));
    if (!hosts_[i].is_called()) continue;
    watch(hosts_[i].rsh.process.number(), Subject::process, i);
    watch(hosts_[i].rsh.errors.number(), Subject::errors, i);
  }
}

void HostsSupervisor::watch(int file, Subject subject, std::size_t index) {
  watcher_.watch(file, static_cast<std::uint32_t>(subject), static_cast<std::uint32_t>(index), EPOLLIN);
}

int HostsSupervisor::run() {
  while (!is_over()) {
    for (const Watcher::Event& event : watcher_.wait(deadline_ns())) handle(event);
    turn(os::monotonic_ns());
    // A thread of the output may be blocked in a write forever; the process must end nevertheless.
    if (control_.abandoned() && control_.phase() == Phase::over) std::_Exit(control_.exit_status());
  }
  return started_ ? control_.exit_status() : 125;
}

bool HostsSupervisor::is_over() const {
  if (!outputs_.idle() || !control_.knows_of(outputs_.failure())) return false;
  if (!started_) return refused_;
  return control_.phase() == Phase::over && std::ranges::none_of(hosts_, &HostLink::used);
}

std::optional<std::uint64_t> HostsSupervisor::deadline_ns() const {
  auto deadline = earlier(heartbeat_.due_ns(), control_.deadline_ns());
  deadline = earlier(deadline, earlier(weigh_at_ns_, give_up_at_ns_));
  if (started_ && control_.phase() == Phase::running) deadline = earlier(deadline, survey_.due_ns());
  for (const HostLink& host : hosts_) {
    if (!host.used()) continue;
    deadline = earlier(deadline, host.channel.silent_at_ns());
    if (host.closed_ns) deadline = earlier(deadline, *host.closed_ns + 500 * ms);
  }
  return deadline;
}

// Once after the events of each wait.
void HostsSupervisor::turn(std::uint64_t now_ns) {
  look_at_closed(now_ns);
  look_for_silence(now_ns);
  if (!started_ && !refused_) start_when_ready();
  if (weigh_at_ns_ && (now_ns >= *weigh_at_ns_ || control_.phase() != Phase::running)) weigh_held_back();
  if (started_) control_.follow(now_ns);
  if (started_ && control_.phase() == Phase::running) {
    survey_.go_on(now_ns);
    survey_.look_if_due(now_ns);
    if (hosts_[0].serves()) input_.read_more(hosts_[0].channel);
  }
  if (std::string report = survey_.take_report(); !report.empty()) say(std::move(report));
  if (heartbeat_.take_due(now_ns)) {
    for (HostLink& host : hosts_) {
      host.channel.send(MessageKind::alive, heartbeat_.patience_ms());
      if (events_ != nullptr && host.serves() && host.clock_asked_ns == 0) ask_for_clock(host);
    }
  }
  grant_output();
  if (control_.phase() == Phase::over) write_begun_lines();
  if (give_up_at_ns_ && now_ns >= *give_up_at_ns_) {
    for (HostLink& host : hosts_) {
      if (host.used()) lose(host, "does not end its ranks");
    }
  }
}

void HostsSupervisor::handle(const Watcher::Event& event) {
  const std::size_t index = event.index;
  switch (static_cast<Subject>(event.subject)) {
    case Subject::channel:
      hosts_[index].channel.flush();
      return read_channel(index);
    case Subject::process:
      read_channel(index);
      watcher_.unwatch(hosts_[index].rsh.process.number());
      if (!hosts_[index].closed_ns) hosts_[index].closed_ns = os::monotonic_ns();
      return;
    case Subject::errors: {
      const int file = hosts_[index].rsh.errors.number();
      std::string shown = read_complaints(hosts_[index]);
      if (!shown.empty()) outputs_.error().write(std::move(shown));
      if (hosts_[index].rsh.errors.number() < 0) watcher_.unwatch(file);
      return;
    }
    case Subject::signals:
      while (const auto signal = signals_.next()) handle_signal(*signal);
      return;
    case Subject::progress: {
      eventfd_t ignored = 0;
      ::eventfd_read(progress_event_.number(), &ignored);
      if (outputs_.broken()) control_.outcome().output_closed();
      if (const int error = outputs_.failure(); error != 0) control_.outcome().output_lost(error);
      return;
    }
    case Subject::input:
      return input_.readable();
  }
}

void HostsSupervisor::handle_signal(UserSignal signal) {
  // The ranks are not in the terminal's process group.
  signal.from_terminal = false;
  const bool ends = signal.asks_to_end();
  if (ends) signalled_ns_ = os::monotonic_ns();
  if (!started_ && ends) {
    for (HostLink& host : hosts_) hang_up(host);
    std::_Exit(128 + signal.number);
  }
  if (!started_) return;
  if (signal.number == SIGQUIT && !plan_.order.plain) return survey_.ask();
  control_.pass_on(signal, os::monotonic_ns());
  constexpr std::uint64_t patience_of_insistence = 2000 * ms;
  if (control_.abandoned()) give_up_at_ns_ = os::monotonic_ns() + patience_of_insistence;
  if (signal.asks_to_stop()) stop_self();
}

// Proxies would mistake the silence of a stopped launcher for its death.
void HostsSupervisor::stop_self() {
  const std::uint64_t deadline_ns = os::monotonic_ns() + 1000 * ms;
  for (HostLink& host : hosts_) {
    host.channel.send(MessageKind::alive, 0);
    host.channel.flush_until(deadline_ns);
  }
  UserSignals::stop_self();
  for (HostLink& host : hosts_) host.channel.send(MessageKind::alive, heartbeat_.patience_ms());
}

void HostsSupervisor::signal_all(int number) {
  for (HostLink& host : hosts_) {
    if (host.serves()) host.channel.send(MessageKind::signal_all, number);
  }
}

void HostsSupervisor::signal_rank_zero(int number) {
  if (hosts_[0].serves()) hosts_[0].channel.send(MessageKind::signal_rank_zero, number);
}

void HostsSupervisor::expect_no_prompt() {
  for (HostLink& host : hosts_) {
    if (host.serves()) host.channel.send(MessageKind::no_prompt);
  }
}

// After every host has answered or cannot be used: reports all refusals together, or starts the ranks.
void HostsSupervisor::start_when_ready() {
  const auto open = [](const HostLink& host) {
    return host.state == HostState::called || host.state == HostState::ordered;
  };
  if (std::ranges::any_of(hosts_, open)) return;
  std::vector<HostFacts> facts;
  std::vector<RefusingHost> refusing;
  for (const HostLink& host : hosts_) {
    if (host.state == HostState::examined) facts.push_back({host.name, host.facts});
    refusing.push_back({host.name, host.refusal});
  }
  const std::vector<std::string> lines = refusal_lines(refusing, differences(facts));
  if (plan_.order.examine || !lines.empty()) {
    refused_ = true;
    for (const std::string& line : lines) {
      if (!plan_.order.examine) say("musubi: " + line);
    }
    for (HostLink& host : hosts_) host.channel.close();
    return;
  }
  started_ = true;
  for (HostLink& host : hosts_) {
    host.state = HostState::starting;
    host.alive = host.ranks.count;
    host.channel.send(MessageKind::start);
  }
}

void HostsSupervisor::look_for_silence(std::uint64_t now_ns) {
  if (heartbeat_.was_away(now_ns)) {
    for (HostLink& host : hosts_) host.channel.heard(now_ns);
  }
  for (HostLink& host : hosts_) {
    const auto silent = host.channel.silent_at_ns();
    if (!host.used() || host.closed_ns || !silent || now_ns < *silent) continue;
    if (host.state == HostState::running) {
      lose(host, "the launcher on " + os::host_name("this host") + " has had no sign of life for " +
                     in_seconds(plan_.order.host_timeout) +
                     "; that host hangs, or the network between is down");
    } else {
      lose(host, "no sign of life for " + in_seconds(plan_.order.start_timeout));
    }
  }
}

// Reports the end of the rsh process, with its last lines, as the cause: it follows shortly after the
// channel's end.
void HostsSupervisor::look_at_closed(std::uint64_t now_ns) {
  for (HostLink& host : hosts_) {
    if (!host.used() || !host.closed_ns) continue;
    if (!host.is_called()) {
      lose(host, "its proxy has ended");
      continue;
    }
    if (std::string shown = read_complaints(host); !shown.empty()) outputs_.error().write(std::move(shown));
    const auto ending = rsh_ending(host);
    if (!ending && now_ns < *host.closed_ns + 500 * ms) continue;
    const std::string what = host.state == HostState::called ? "the command that calls it" : "its proxy";
    lose(host, what + " has ended (" + ending.value_or("but " + plan_.rsh + " goes on") + ")");
  }
}

void HostsSupervisor::lose(HostLink& host, const std::string& why) {
  const HostState before = host.state;
  host.state = HostState::lost;
  hang_up(host);
  if (before == HostState::called && host.is_called()) {
    std::string cause = " cannot be reached: " + why;
    if (!host.channel.noise().empty())
      cause += "; it printed: " + printable(host.channel.noise().substr(0, 200));
    const bool is_not_found = why.find("exit status 127") != std::string::npos;
    host.refusal = {cause, "try `" + plan_.rsh + " " + host.name + " " + plan_.musubi_path + " --version`" +
                               (is_not_found ? ", and say by --remote-path where Musubi is there" : "")};
  } else if (!started_) {
    host.refusal = {" was lost before the ranks started: " + why, ""};
  } else {
    control_.outcome().host_lost(host.ranks, host.alive, describe(host) + " is lost: " + why);
    host.alive = 0;
  }
}

}  // namespace musubi::launch
