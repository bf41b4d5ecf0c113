#include "launch/local/rank_supervisor.h"

#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <utility>

#include "launch/local/wait_report.h"
#include "os/clock.h"
#include "os/control_group.h"
#include "os/signal_calls.h"

namespace musubi::launch {

using namespace bootstrap::local;

namespace {

bool ignores(pid_t process, int signal) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  const std::string_view name = "SigIgn:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(name)) continue;
    return (std::strtoull(line.c_str() + name.size(), nullptr, 16) & os::signal_bit(signal)) != 0;
  }
  return false;
}

}  // namespace

RankSupervisor::RankSupervisor(const LaunchPlan& plan, Watcher& watcher, std::vector<RankProcess> ranks,
                               LineSink& output, LineSink& error, Listener& listener)
    : plan_(plan),
      ranks_(plan.here),
      watcher_(watcher),
      listener_(listener),
      gather_(plan.here),
      relay_(*this, plan.here, plan.label_output, output, error),
      memory_kills_before_(os::memory_kills()) {
  members_.reserve(ranks.size());
  for (RankProcess& process : ranks) {
    const Rank rank = ranks_[static_cast<std::uint32_t>(members_.size())];
    const auto subject = [](Subject of) { return static_cast<std::uint32_t>(of); };
    watcher_.watch(process.process.number(), subject(Subject::process), rank.value, EPOLLIN);
    watcher_.watch(process.link.descriptor(), subject(Subject::frames), rank.value, EPOLLIN);
    relay_.add_rank(std::move(process.output), std::move(process.error));
    members_.emplace_back().process = std::move(process);
  }
}

void RankSupervisor::watch(int descriptor, Rank rank, Stream stream) {
  const Subject subject = stream == Stream::output ? Subject::output : Subject::error;
  watcher_.watch(descriptor, static_cast<std::uint32_t>(subject), rank.value, EPOLLIN);
}

void RankSupervisor::unwatch(int descriptor) {
  watcher_.unwatch(descriptor);
}

bool RankSupervisor::handle(const Watcher::Event& event) {
  const Rank rank(event.index);
  switch (static_cast<Subject>(event.subject)) {
    case Subject::output:
      relay_.readable(rank, Stream::output, os::monotonic_ns());
      return true;
    case Subject::error:
      relay_.readable(rank, Stream::error, os::monotonic_ns());
      return true;
    case Subject::frames:
      if ((event.events & EPOLLOUT) != 0) send_reply(rank);
      read_frames(rank);
      return true;
    case Subject::process:
      deaths_pending_ = true;
      return true;
    case Subject::first_of_others:
      break;
  }
  return false;
}

// Several ranks may have ended, and reported why, before this check.
void RankSupervisor::settle() {
  if (!deaths_pending_ && aborts_.empty()) return;
  deaths_pending_ = false;
  Endings endings;
  for (std::uint32_t index = 0; index < members_.size(); ++index) {
    const Member& one = members_[index];
    if (!one.alive) continue;
    if (const auto ending = reap(one.process)) {
      endings.deaths.push_back({ranks_[index], one.process.process_id, *ending});
    }
  }
  // The causes of these deaths were sent before them.
  for (std::uint32_t index = 0; index < members_.size(); ++index) read_frames(ranks_[index]);
  const bool killed = std::ranges::any_of(endings.deaths, [](const Death& death) {
    return death.ending.by_signal && death.ending.number == SIGKILL;
  });
  endings.memory_ran_out = killed && os::memory_kills() > memory_kills_before_;
  endings.aborts = std::exchange(aborts_, {});
  listener_.ended(endings);
  for (const Death& death : endings.deaths) {
    Member& one = member(death.rank);
    // It did not live to send its frames.
    if (!one.crash_cause.empty()) listener_.crashed(std::exchange(one.crash_cause, {}));
    one.alive = false;
    one.process.process.close();
    one.process.link.close();
    relay_.rank_ended(death.rank, os::monotonic_ns());
  }
}

void RankSupervisor::read_frames(Rank rank) {
  RankLink& link = member(rank).process.link;
  while (link.open()) {
    Frame frame;
    switch (link.receive(frame)) {
      case Received::frame:
        take_frame(rank, frame);
        break;
      case Received::nothing:
        return;
      case Received::closed:
        return link_ended(rank);
      case Received::broken:
        return broken_protocol(rank);
    }
  }
}

// The pidfd reports a rank that dies at once. One that lives and has more to send has closed the socket, and
// those to other ranks, which would report this one as lost.
void RankSupervisor::link_ended(Rank rank) {
  Member& one = member(rank);
  one.process.link.close();
  constexpr int moment_ms = 500;
  pollfd death{one.process.process.number(), POLLIN, 0};
  if (!one.has_more_to_say || ::poll(&death, 1, moment_ms) != 0) return;
  abort(rank, 1,
        "it has closed the files of the runtime by system calls of its own: let it close only descriptors "
        "that it has opened");
}

void RankSupervisor::take_frame(Rank rank, Frame& frame) {
  switch (frame.kind) {
    case FrameKind::join:
      member(rank).has_more_to_say = true;
      return listener_.joined(rank);
    case FrameKind::gather:
      if (!gather_.add(rank, frame)) return broken_protocol(rank);
      if (const auto blobs = gather_.take_result()) listener_.gathered(blobs);
      return;
    case FrameKind::finish:
      member(rank).has_more_to_say = false;
      return listener_.finished(rank, frame.status);
    case FrameKind::abort:
      member(rank).has_more_to_say = false;
      return abort(rank, frame.status, std::move(frame.body));
    case FrameKind::crash_cause:
      member(rank).crash_cause = std::move(frame.body);
      return;
    case FrameKind::crash_frames:
      return tell_crash(rank, frame.body);
    case FrameKind::gathered:
    case FrameKind::crash_told:
    case FrameKind::welcome:
      return broken_protocol(rank);
  }
}

// The rank waits for crash_told, so that its libraries are still mapped here.
void RankSupervisor::tell_crash(Rank rank, const std::string& frames) {
  Member& one = member(rank);
  std::vector<std::uintptr_t> addresses(frames.size() / sizeof(std::uintptr_t));
  std::memcpy(addresses.data(), frames.data(), addresses.size() * sizeof(std::uintptr_t));
  listener_.crashed(one.crash_cause + backtrace_lines(addresses, one.process.process_id, plan_.find_places));
  one.crash_cause.clear();
  one.process.link.send(FrameKind::crash_told);
}

void RankSupervisor::abort(Rank rank, int status, std::string reason) {
  aborts_.push_back({rank, member(rank).process.process_id, status, std::move(reason)});
}

void RankSupervisor::broken_protocol(Rank rank) {
  abort(rank, 1,
        "sent something unexpected to the launcher; launcher and runtime must have the same version");
  member(rank).process.link.close();
}

void RankSupervisor::welcome_others() {
  if (!joins_by_preload(plan_)) return;
  for (std::uint32_t index = 0; index < members_.size(); ++index) {
    if (ranks_[index] != Rank{0}) members_[index].process.link.welcome(welcome_of(plan_, ranks_[index]));
  }
}

void RankSupervisor::reply(const std::shared_ptr<const std::string>& blobs) {
  for (std::uint32_t index = 0; index < members_.size(); ++index) {
    members_[index].process.link.reply(blobs);
    send_reply(ranks_[index]);
  }
}

void RankSupervisor::send_reply(Rank rank) {
  RankLink& link = member(rank).process.link;
  if (!link.open()) return;
  const std::uint32_t events = link.send_more() ? EPOLLIN | EPOLLOUT : EPOLLIN;
  watcher_.watch(link.descriptor(), static_cast<std::uint32_t>(Subject::frames), rank.value, events);
}

// Dead ranks keep their process id until they are reaped, and reaped ones are not alive: no id is reused
// here.
void RankSupervisor::signal_all(int number) {
  for (const Member& one : members_) {
    if (one.alive) ::kill(one.process.process_id, number);
  }
}

void RankSupervisor::signal(Rank rank, int number) {
  if (member(rank).alive) ::kill(member(rank).process.process_id, number);
}

void RankSupervisor::stop_others() {
  for (const Member& one : members_) {
    const pid_t process = one.process.process_id;
    if (one.alive && !ignores(process, SIGTSTP)) ::kill(process, SIGSTOP);
  }
}

bool RankSupervisor::any_alive() const {
  return std::ranges::any_of(members_, &Member::alive);
}

std::vector<pid_t> RankSupervisor::living_processes() const {
  std::vector<pid_t> processes(plan_.ranks, 0);
  for (std::uint32_t index = 0; index < members_.size(); ++index) {
    if (members_[index].alive) processes[ranks_[index].value] = members_[index].process.process_id;
  }
  return processes;
}

}  // namespace musubi::launch
