#include "launch/local/supervisor.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "launch/local/wait_report.h"
#include "os/clock.h"
#include "os/control_group.h"

namespace musubi::launch {
namespace {

using namespace bootstrap::local;

std::uint32_t count(const std::vector<RankProcess>& ranks) {
  return static_cast<std::uint32_t>(ranks.size());
}

}  // namespace

Supervisor::Supervisor(const LaunchPlan& plan, UserSignals& signals, std::vector<RankProcess> ranks,
                       const WaitBoards& boards)
    : plan_(plan),
      signals_(signals),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      progress_event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      gather_(count(ranks)),
      verdict_(count(ranks), plan.plain),
      relay_(*this, count(ranks), plan.label_output, progress_event_.number()),
      boards_(boards),
      stall_watch_(boards, plan.plain ? std::chrono::nanoseconds{0} : plan.stall_report),
      memory_kills_before_(os::memory_kills()) {
  watch_subject(signals_.descriptor(), Subject::signals, 0, EPOLLIN);
  watch_subject(progress_event_.number(), Subject::progress, 0, EPOLLIN);
  members_.reserve(ranks.size());
  for (RankProcess& process : ranks) {
    const auto rank = static_cast<std::uint32_t>(members_.size());
    watch_subject(process.process.number(), Subject::process, rank, EPOLLIN);
    watch_subject(process.link.descriptor(), Subject::frames, rank, EPOLLIN);
    relay_.add_rank(std::move(process.output), std::move(process.error));
    members_.push_back(Member{std::move(process), true, {}});
  }
}

int Supervisor::run() {
  while (verdict_.phase() != Phase::over || !relay_.drained()) {
    wait_and_handle();
    // The output's threads may be blocked for good in a write; the process must end all the same.
    if (verdict_.phase() == Phase::over && abandoned_) std::_Exit(verdict_.exit_status());
  }
  return verdict_.exit_status();
}

void Supervisor::watch(int descriptor, Rank rank, Stream stream) {
  watch_subject(descriptor, stream == Stream::output ? Subject::output : Subject::error, rank.value, EPOLLIN);
}

void Supervisor::unwatch(int descriptor) {
  ::epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void Supervisor::watch_subject(int descriptor, Subject subject, std::uint32_t rank, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (static_cast<std::uint64_t>(subject) << 32) | rank;
  const int added = ::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, descriptor, &event);
  MUSUBI_CHECK(added == 0 || ::epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, descriptor, &event) == 0);
}

void Supervisor::wait_and_handle() {
  epoll_event events[256];
  const int ready = ::epoll_wait(epoll_.number(), events, static_cast<int>(std::size(events)),
                                 timeout_ms(os::monotonic_ns()));
  for (int i = 0; i < ready; ++i) {
    handle(static_cast<Subject>(events[i].data.u64 >> 32),
           Rank(static_cast<std::uint32_t>(events[i].data.u64)), events[i].events);
  }
  if (deaths_pending_ || !aborts_.empty()) weigh_endings();
  follow_verdict();
  if (verdict_.phase() == Phase::running && stall_watch_.look(os::monotonic_ns(), living_processes())) {
    say_what_threads_wait_for(stall_watch_.heading());
  }
  relay_.flush_quiet(os::monotonic_ns());
}

int Supervisor::timeout_ms(std::uint64_t now_ns) const {
  std::optional<std::uint64_t> deadline = relay_.quiet_deadline_ns();
  if (const auto due = stall_watch_.due_ns(); due && verdict_.phase() == Phase::running) {
    deadline = std::min(deadline.value_or(*due), *due);
  }
  if (kill_at_ns_) deadline = std::min(deadline.value_or(*kill_at_ns_), *kill_at_ns_);
  if (!deadline) return -1;
  constexpr std::uint64_t ms = 1'000'000;
  return *deadline <= now_ns ? 0 : static_cast<int>((*deadline - now_ns + ms - 1) / ms);
}

void Supervisor::handle(Subject subject, Rank rank, std::uint32_t events) {
  switch (subject) {
    case Subject::output:
      return relay_.readable(rank, Stream::output, os::monotonic_ns());
    case Subject::error:
      return relay_.readable(rank, Stream::error, os::monotonic_ns());
    case Subject::frames:
      if ((events & EPOLLOUT) != 0) send_reply(rank);
      return read_frames(rank);
    case Subject::process:
      deaths_pending_ = true;
      return;
    case Subject::signals:
      while (const auto signal = signals_.next()) handle_signal(*signal);
      return;
    case Subject::progress: {
      eventfd_t ignored = 0;
      ::eventfd_read(progress_event_.number(), &ignored);
      relay_.progressed(os::monotonic_ns());
      if (relay_.reader_gone()) verdict_.output_closed();
      return;
    }
  }
}

// Several ranks may have ended, and said why, before the launcher looked. The cause of the rest is reported:
// a finish comes before the exits that it led to, and a death by a signal before the aborts of ranks that
// noticed it.
void Supervisor::weigh_endings() {
  struct Death {
    Rank rank;
    Ending ending;
  };
  std::vector<Death> deaths;
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) {
    if (!members_[rank].alive) continue;
    if (const auto ending = reap(members_[rank].process)) deaths.push_back({Rank(rank), *ending});
  }
  // Whatever led to these deaths was sent before them.
  for (std::uint32_t rank = 0; rank < members_.size(); ++rank) read_frames(Rank(rank));
  const auto first_exit = std::stable_partition(deaths.begin(), deaths.end(),
                                                [](const Death& death) { return death.ending.by_signal; });
  const bool killed = std::ranges::any_of(
      deaths, [](const Death& death) { return death.ending.by_signal && death.ending.number == SIGKILL; });
  if (killed && os::memory_kills() > memory_kills_before_) verdict_.memory_ran_out();
  const auto weigh = [&](const Death& death) {
    verdict_.ended(death.rank, members_[death.rank.value].process.process_id, death.ending);
  };
  std::for_each(deaths.begin(), first_exit, weigh);
  for (const auto& [rank, frame] : aborts_) {
    verdict_.aborted(rank, members_[rank.value].process.process_id, frame.status, frame.body);
  }
  aborts_.clear();
  std::for_each(first_exit, deaths.end(), weigh);
  for (const Death& death : deaths) {
    Member& member = members_[death.rank.value];
    // It did not live to send the frames.
    if (!member.crash_cause.empty()) relay_.say(std::exchange(member.crash_cause, {}));
    member.alive = false;
    member.process.process.close();
    member.process.link.close();
    relay_.rank_ended(death.rank, os::monotonic_ns());
  }
  deaths_pending_ = false;
}

void Supervisor::read_frames(Rank rank) {
  Member& member = members_[rank.value];
  while (member.process.link.open()) {
    Frame frame;
    switch (member.process.link.receive(frame)) {
      case Received::frame:
        take_frame(rank, frame);
        break;
      case Received::nothing:
        return;
      case Received::closed:
        return member.process.link.close();  // its death, if it is one, comes by the pidfd
      case Received::broken:
        return broken_protocol(rank);
    }
  }
}

void Supervisor::take_frame(Rank rank, Frame& frame) {
  switch (frame.kind) {
    case FrameKind::join:
      return verdict_.joined(rank);
    case FrameKind::gather:
      if (!gather_.add(rank, frame)) return broken_protocol(rank);
      if (const auto result = gather_.take_result()) {
        for (std::uint32_t other = 0; other < members_.size(); ++other) {
          members_[other].process.link.reply(result);
          send_reply(Rank(other));
        }
      }
      return;
    case FrameKind::finish:
      return verdict_.finished(rank, frame.status);
    case FrameKind::abort:
      aborts_.emplace_back(rank, std::move(frame));
      return;
    case FrameKind::crash_cause:
      members_[rank.value].crash_cause = std::move(frame.body);
      return;
    case FrameKind::crash_frames:
      return tell_crash(rank, frame.body);
    case FrameKind::gathered:
    case FrameKind::crash_told:
      return broken_protocol(rank);
  }
}

// The rank waits for this, so that its libraries can still be seen.
void Supervisor::tell_crash(Rank rank, const std::string& frames) {
  Member& member = members_[rank.value];
  std::vector<std::uintptr_t> addresses(frames.size() / sizeof(std::uintptr_t));
  std::memcpy(addresses.data(), frames.data(), addresses.size() * sizeof(std::uintptr_t));
  relay_.say(member.crash_cause + backtrace_lines(addresses, member.process.process_id, plan_.find_places));
  member.crash_cause.clear();
  member.process.link.send(FrameKind::crash_told);
}

void Supervisor::broken_protocol(Rank rank) {
  Frame frame;
  frame.status = 1;
  frame.body = "sent something unexpected to the launcher; launcher and runtime must be of one version";
  aborts_.emplace_back(rank, std::move(frame));
  members_[rank.value].process.link.close();
}

void Supervisor::send_reply(Rank rank) {
  RankLink& link = members_[rank.value].process.link;
  if (!link.open()) return;
  const std::uint32_t events = link.send_more() ? EPOLLIN | EPOLLOUT : EPOLLIN;
  watch_subject(link.descriptor(), Subject::frames, rank.value, events);
}

std::vector<pid_t> Supervisor::living_processes() const {
  std::vector<pid_t> processes;
  for (const Member& member : members_) processes.push_back(member.alive ? member.process.process_id : 0);
  return processes;
}

void Supervisor::say_what_threads_wait_for(const std::string& heading) {
  relay_.say(wait_report(heading, take_snapshot(boards_, living_processes()), plan_.find_places));
}

void Supervisor::handle_signal(UserSignal signal) {
  if (signal.number == SIGQUIT && !plan_.plain) {
    return say_what_threads_wait_for("musubi: what the threads of the job do:");
  }
  const Passing passing = passing_of(signal);
  if (signal.number != SIGCONT && signal.number != SIGTSTP) verdict_.passed_on(signal.number);
  if (insistence_.insists(signal.number, os::monotonic_ns())) {
    verdict_.passed_on(SIGKILL);
    abandoned_ = true;
    signal_all(SIGKILL);
  } else if (passing == Passing::all_ranks) {
    signal_all(signal.number);
  } else if (passing == Passing::rank_zero && members_[0].alive) {
    ::kill(members_[0].process.process_id, signal.number);
  }
  if (signal.number == SIGTSTP) UserSignals::stop_self();
}

// Dead ranks keep their process id until they are reaped, and those that are reaped are not alive: no id is
// reused here.
void Supervisor::signal_all(int number) {
  for (const Member& member : members_) {
    if (member.alive) ::kill(member.process.process_id, number);
  }
}

void Supervisor::follow_verdict() {
  std::string message = verdict_.take_message();
  if (!message.empty()) relay_.say(std::move(message));
  const std::uint64_t now_ns = os::monotonic_ns();
  if (verdict_.phase() != acted_on_) {
    acted_on_ = verdict_.phase();
    relay_.expect_no_prompt();
    if (acted_on_ == Phase::failing) {
      signal_all(SIGTERM);
      signal_all(SIGCONT);  // a stopped one would not notice
    }
    const bool ending = acted_on_ == Phase::failing || acted_on_ == Phase::leaving;
    if (ending) kill_at_ns_ = now_ns + static_cast<std::uint64_t>(plan_.abort_timeout.count());
    if (acted_on_ == Phase::over) kill_at_ns_.reset();
  }
  if (kill_at_ns_ && now_ns >= *kill_at_ns_) {
    signal_all(SIGKILL);
    kill_at_ns_.reset();
  }
}

}  // namespace musubi::launch
