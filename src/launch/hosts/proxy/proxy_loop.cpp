#include "launch/hosts/proxy/proxy_loop.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "launch/hosts/wire/event_parcels.h"
#include "launch/local/wait_report.h"
#include "os/clock.h"

namespace musubi::launch {
namespace {

constexpr const char* launcher_is_gone = "the launcher is gone";

}  // namespace

InputPipe::InputPipe(os::FileDescriptor write_end) : pipe_(std::move(write_end)) {
  if (open()) ::fcntl(pipe_.number(), F_SETFL, O_NONBLOCK);
}

void InputPipe::add(std::string_view bytes) {
  if (open()) bytes_ += bytes;
}

std::size_t InputPipe::write_more() {
  std::size_t written = 0;
  while (open() && written < bytes_.size()) {
    const ssize_t bytes = ::write(pipe_.number(), bytes_.data() + written, bytes_.size() - written);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == EAGAIN) break;
    if (bytes < 0) {
      pipe_.close();
      break;
    }
    written += static_cast<std::size_t>(bytes);
  }
  bytes_.erase(0, written);
  if (ended_ && bytes_.empty()) pipe_.close();
  return written;
}

ProxyLoop::ProxyLoop(const LaunchPlan& plan, const JobOrder& order, Channel& channel, Watcher& watcher,
                     UserSignals& signals, std::vector<RankProcess> ranks, const WaitBoards& boards,
                     const EventMemory& events, InputPipe input)
    : plan_(plan),
      order_(order),
      channel_(channel),
      watcher_(watcher),
      signals_(signals),
      boards_(boards),
      events_(events),
      input_(std::move(input)),
      output_(channel, MessageKind::output, MessageKind::output_begun),
      error_(channel, MessageKind::error, MessageKind::error_begun),
      guard_(plan, watcher, std::move(ranks), output_, error_, *this),
      heartbeat_(order.host_timeout, os::monotonic_ns()) {}

int ProxyLoop::run() {
  read_channel();  // it may have arrived together with the order to start
  while (lost_.empty() && (guard_.any_alive() || !guard_.relay().closed())) {
    auto deadline = earlier(heartbeat_.due_ns(), channel_.silent_at_ns());
    deadline = earlier(deadline, earlier(guard_.relay().quiet_deadline_ns(), stop_at_ns_));
    for (const Watcher::Event& event : watcher_.wait(deadline)) handle(event);
    guard_.settle();
    const std::uint64_t now_ns = os::monotonic_ns();
    guard_.relay().flush_quiet(now_ns);
    give_sign_of_life(now_ns);
    if (stop_at_ns_ && now_ns >= *stop_at_ns_) {
      stop_at_ns_.reset();
      guard_.stop_others();
    }
    if (heartbeat_.was_away(now_ns)) channel_.heard(now_ns);
    if (const auto silent = channel_.silent_at_ns(); silent && now_ns >= *silent) {
      lost_ = "the launcher has been silent for too long";
    }
  }
  read_channel();  // the last messages
  if (!lost_.empty()) return kill_ranks();
  send_events();
  channel_.send(MessageKind::goodbye);
  channel_.flush_until(os::monotonic_ns() + static_cast<std::uint64_t>(order_.host_timeout.count()));
  return 0;
}

// One parcel at a time, because together they may be large. Each is a sign of life to the launcher.
void ProxyLoop::send_events() {
  const std::vector<trace::EventLog> logs = events_.logs();
  for (std::uint32_t index = 0; index < order_.here.count && !logs.empty(); ++index) {
    const Rank rank = order_.here[index];
    const trace::EventLog& log = logs[rank.value];
    for (std::size_t ring = 0; ring < log.rings() && channel_.open(); ++ring) {
      channel_.send(MessageKind::events, rank.value, event_parcel(log, ring));
      channel_.flush_until(os::monotonic_ns() + static_cast<std::uint64_t>(order_.host_timeout.count()));
    }
  }
}

int ProxyLoop::kill_ranks() {
  // The other launcher itself reports a process that it has lost; the proxy of each rank need not.
  if (!order_.started_by_other || lost_ != launcher_is_gone) {
    std::fprintf(stderr, "musubi: the ranks on %s are killed: %s\n", order_.host.c_str(), lost_.c_str());
  }
  channel_.close();
  guard_.signal_all(SIGKILL);
  while (guard_.any_alive()) {
    for (const Watcher::Event& event : watcher_.wait(std::nullopt)) guard_.handle(event);
    guard_.settle();
  }
  constexpr int status_of_failure = 125;
  return status_of_failure;
}

void ProxyLoop::joined(Rank rank) {
  channel_.send(MessageKind::joined, rank.value);
}

void ProxyLoop::finished(Rank rank, int status) {
  channel_.send(MessageKind::finished, static_cast<std::int64_t>((std::uint64_t{rank.value} << 32) |
                                                                 static_cast<std::uint32_t>(status)));
}

void ProxyLoop::gathered(std::shared_ptr<const std::string> blobs) {
  channel_.send_shared(MessageKind::gathered, std::move(blobs));
}

void ProxyLoop::crashed(std::string lines) {
  channel_.send(MessageKind::crashed, 0, lines);
}

void ProxyLoop::ended(const Endings& endings) {
  channel_.send(MessageKind::ended, 0, encode(endings));
}

void ProxyLoop::handle(const Watcher::Event& event) {
  if (guard_.handle(event)) return;
  switch (static_cast<Subject>(event.subject)) {
    case Subject::channel:
      channel_.flush();
      return read_channel();
    case Subject::input:
      return feed_input();
    case Subject::signals:
      while (const auto signal = signals_.next()) {
        if (!signal->asks_to_end()) continue;
        if (order_.started_by_other)
          channel_.send(MessageKind::told_to_end, signal->number);
        else
          lost_ = "this proxy was ended by " + describe_signal(signal->number);
      }
      return;
  }
}

void ProxyLoop::read_channel() {
  Message message;
  while (lost_.empty()) {
    switch (channel_.receive(message)) {
      case Channel::Got::message:
        obey(message);
        break;
      case Channel::Got::nothing:
        return;
      case Channel::Got::closed:
        lost_ = launcher_is_gone;
        return;
      case Channel::Got::broken:
        lost_ = std::string("a message of the launcher ") + channel_.trouble();
        return;
    }
  }
}

void ProxyLoop::obey(const Message& message) {
  switch (message.kind) {
    case MessageKind::gathered:
      return guard_.reply(std::make_shared<const std::string>(message.body));
    case MessageKind::signal_all:
      return obey_signal(static_cast<int>(message.number));
    case MessageKind::signal_rank_zero:
      if (order_.here.holds(Rank(0))) guard_.signal(Rank(0), static_cast<int>(message.number));
      return;
    case MessageKind::welcome_others:
      return guard_.welcome_others();
    case MessageKind::no_prompt:
      return guard_.relay().expect_no_prompt();
    case MessageKind::input:
      input_.add(message.body);
      return feed_input();
    case MessageKind::input_end:
      input_.end();
      return feed_input();
    case MessageKind::clock:
      return channel_.send(MessageKind::clock, static_cast<std::int64_t>(os::monotonic_ns()));
    case MessageKind::look:
      return look();
    case MessageKind::report:
      return report(message);
    case MessageKind::output_taken:
    case MessageKind::error_taken:
    case MessageKind::output_closed:
    case MessageKind::error_closed:
      return obey_output(message);
    default:
      return;  // only a sign of life
  }
}

// A program that handles the terminal's stop key gets a moment to act before it is stopped.
void ProxyLoop::obey_signal(int number) {
  constexpr std::uint64_t moment_ns = 200'000'000;
  guard_.signal_all(number);
  if (number == SIGTSTP) stop_at_ns_ = os::monotonic_ns() + moment_ns;
  if (number == SIGCONT) stop_at_ns_.reset();
}

void ProxyLoop::give_sign_of_life(std::uint64_t now_ns) {
  if (heartbeat_.take_due(now_ns)) channel_.send(MessageKind::alive, heartbeat_.patience_ms());
}

void ProxyLoop::look() {
  const auto states =
      take_snapshot(boards_, guard_.living_processes(), [this] { give_sign_of_life(os::monotonic_ns()); });
  channel_.send(MessageKind::seen, 0, encode(states));
}

void ProxyLoop::obey_output(const Message& message) {
  const bool of_output =
      message.kind == MessageKind::output_taken || message.kind == MessageKind::output_closed;
  ChannelSink& sink = of_output ? output_ : error_;
  const bool taken = message.kind == MessageKind::output_taken || message.kind == MessageKind::error_taken;
  if (taken)
    sink.taken(message.number);
  else
    sink.close();
  guard_.relay().progressed(os::monotonic_ns());
}

void ProxyLoop::report(const Message& message) {
  auto states = decode<std::vector<RankState>>(message.body);
  const std::string lines = states.ok()
                                ? wait_lines(states.value(), order_.here, order_.host, plan_.find_places)
                                : "\n  host " + order_.host + ": " + states.error().message;
  channel_.send(MessageKind::reported, 0, lines);
}

// Watches the pipe while it is full.
void ProxyLoop::feed_input() {
  const int pipe = input_.descriptor();
  if (pipe < 0) return;
  const std::size_t bytes = input_.write_more();
  if (bytes > 0) channel_.send(MessageKind::input_taken, static_cast<std::int64_t>(bytes));
  if (input_.waits()) {
    watcher_.watch(pipe, static_cast<std::uint32_t>(Subject::input), 0, EPOLLOUT);
  } else if (input_.open()) {
    watcher_.unwatch(pipe);
  } else if (!input_told_closed_) {
    input_told_closed_ = true;
    channel_.send(MessageKind::input_closed);
  }
}

}  // namespace musubi::launch
