// How the supervisor of several hosts handles messages of its proxies.
#include <algorithm>
#include <utility>

#include "bootstrap/local/frame.h"
#include "launch/hosts/launcher/hosts_supervisor.h"
#include "os/clock.h"

namespace musubi::launch {
namespace {

// How long aborts and exits wait for the death of a rank on another host that may have caused them.
constexpr std::uint64_t hold_back_ns = 200'000'000;
constexpr std::uint64_t hold_back_exits_ns = 5'000'000'000;

constexpr const char* is_not_said = "it sends messages that no proxy sends";

}  // namespace

void HostsSupervisor::read_channel(std::size_t index) {
  HostLink& host = hosts_[index];
  Message message;
  while (host.used() && host.channel.open()) {
    switch (host.channel.receive(message)) {
      case Channel::Got::message:
        take(index, message);
        break;
      case Channel::Got::nothing:
        return;
      case Channel::Got::closed:
        if (!host.closed_ns) host.closed_ns = os::monotonic_ns();
        host.channel.close();
        return;
      case Channel::Got::broken:
        return lose_for_trouble(host);
    }
  }
}

// Also reports trouble at the end, when it no longer matters.
void HostsSupervisor::lose_for_trouble(HostLink& host) {
  const std::string why = std::string("a message from there ") + host.channel.trouble() +
                          "; check the network between both hosts";
  if (started_ && control_.phase() != Phase::running) say("musubi: host " + host.name + ": " + why);
  lose(host, why);
}

void HostsSupervisor::take(std::size_t index, Message& message) {
  HostLink& host = hosts_[index];
  switch (message.kind) {
    case MessageKind::alive:
      return;
    case MessageKind::hello:
    case MessageKind::facts:
    case MessageKind::started:
    case MessageKind::refused:
      return take_at_start(index, message);
    case MessageKind::output:
    case MessageKind::output_begun:
    case MessageKind::error:
    case MessageKind::error_begun:
      return take_output(host, message);
    default:
      return take_of_ranks(index, message);
  }
}

void HostsSupervisor::take_at_start(std::size_t index, const Message& message) {
  HostLink& host = hosts_[index];
  switch (message.kind) {
    case MessageKind::hello:
      return send_order(host, message);
    case MessageKind::facts: {
      auto facts = decode<std::vector<Fact>>(message.body);
      if (!facts) return lose(host, facts.error().message);
      host.facts = std::move(facts).value();
      host.state = HostState::examined;
      return;
    }
    case MessageKind::started:
      host.state = HostState::running;
      if (events_ != nullptr) ask_for_clock(host);
      return host.channel.set_patience_ms(heartbeat_.patience_ms());
    case MessageKind::refused:
      if (!started_) {
        host.refusal = {": " + message.body, ""};
      } else {
        control_.outcome().host_lost(host.ranks, std::exchange(host.alive, 0),
                                     "host " + host.name + ": " + message.body);
      }
      host.state = HostState::lost;
      return host.channel.close();
    default:
      return;
  }
}

void HostsSupervisor::send_order(HostLink& host, const Message& message) {
  host.answered_ns = os::monotonic_ns();
  auto greeting = decode<Greeting>(message.body);
  if (!greeting.ok() || greeting.value() != plan_.greeting) {
    host.refusal = {
        " has Musubi " +
            (greeting.ok() ? greeting.value().version + " (" + greeting.value().build + ")" : "") +
            ", this one is " + plan_.greeting.version + " (" + plan_.greeting.build + ")",
        "install the same on all hosts"};
    host.state = HostState::lost;
    return host.channel.close();
  }
  JobOrder order = plan_.order;
  order.host = host.name;
  order.here = host.ranks;
  order.threads_per_rank = std::ranges::max(host.threads);
  // A connection that can be read on the way does not carry the secret; such a proxy already knows it.
  if (!host.is_called()) order.welcome.secret.clear();
  for (const HostLink& other : hosts_) {
    order.welcome.host_of.insert(order.welcome.host_of.end(), other.ranks.count, other.place);
  }
  host.state = HostState::ordered;
  host.channel.send(MessageKind::order, 0, encode(order));
}

void HostsSupervisor::take_of_ranks(std::size_t index, Message& message) {
  HostLink& host = hosts_[index];
  const auto number = static_cast<std::uint64_t>(message.number);
  const Rank finished(static_cast<std::uint32_t>(number >> 32));
  const Rank rank(static_cast<std::uint32_t>(number));
  switch (message.kind) {
    case MessageKind::joined:
      return host.ranks.holds(rank) ? take_joined(rank) : lose(host, is_not_said);
    case MessageKind::finished:
      if (!host.ranks.holds(finished)) return lose(host, is_not_said);
      return control_.outcome().finished(finished, static_cast<int>(static_cast<std::uint32_t>(number)));
    case MessageKind::gathered:
      return gather(host, message.body);
    case MessageKind::crashed:
      return say(message.body);
    case MessageKind::ended: {
      auto endings = decode<Endings>(message.body);
      if (!endings) return lose(host, endings.error().message);
      return hold_back(host, endings.value());
    }
    case MessageKind::input_taken:
      return input_.taken(message.number);
    case MessageKind::input_closed:
      return input_.stop();
    case MessageKind::seen:
    case MessageKind::reported: {
      const auto taken = survey_.take(index, message, os::monotonic_ns());
      if (!taken) lose(host, taken.error().message);
      return;
    }
    case MessageKind::clock:
      return take_clock(host, static_cast<std::uint64_t>(message.number));
    case MessageKind::events: {
      if (events_ == nullptr || !host.ranks.holds(rank)) return lose(host, is_not_said);
      const auto taken = events_->take(rank, message.body, host.clock.ahead_ns());
      if (!taken) lose(host, taken.error().message);
      return;
    }
    case MessageKind::told_to_end:
      return take_copy_of_signal(static_cast<int>(message.number));
    case MessageKind::goodbye:
      host.state = HostState::done;
      return host.channel.close();
    default:
      return lose(host, is_not_said);
  }
}

void HostsSupervisor::take_joined(Rank rank) {
  control_.outcome().joined(rank);
  if (rank != Rank{0}) return;
  for (HostLink& host : hosts_) {
    if (host.serves()) host.channel.send(MessageKind::welcome_others);
  }
}

void HostsSupervisor::ask_for_clock(HostLink& host) {
  ++host.clock_questions;
  host.clock_asked_ns = os::monotonic_ns();
  host.channel.send(MessageKind::clock);
}

// Asks several times at the start, because the first answers are late while the ranks start.
void HostsSupervisor::take_clock(HostLink& host, std::uint64_t other_ns) {
  constexpr unsigned questions_at_once = 16;
  if (host.clock_asked_ns == 0) return;
  host.clock.take(host.clock_asked_ns, os::monotonic_ns(), other_ns);
  host.clock_asked_ns = 0;
  if (host.clock_questions < questions_at_once) ask_for_clock(host);
}

// The hosts are in the order of their ranks, so the concatenation of their texts is the text of all ranks.
void HostsSupervisor::gather(HostLink& host, std::string& body) {
  if (host.blobs != nullptr) return lose(host, "it exchanges out of turn");
  host.blobs = std::make_shared<const std::string>(std::move(body));
  auto all = std::make_shared<std::string>();
  for (const HostLink& other : hosts_) {
    if (other.blobs == nullptr) return;
  }
  for (HostLink& other : hosts_) *all += *std::exchange(other.blobs, nullptr);
  for (HostLink& other : hosts_) {
    if (other.serves()) other.channel.send_shared(MessageKind::gathered, all);
  }
}

// Another launcher sends its signals to all its processes, including this one. To the user they are one
// signal.
void HostsSupervisor::take_copy_of_signal(int number) {
  constexpr std::uint64_t copies_come_within_ns = 5'000'000'000;
  const std::uint64_t now_ns = os::monotonic_ns();
  if (now_ns - signalled_ns_ > copies_come_within_ns) handle_signal({number, false});
}

// Ranks that were connected to a dying rank notice its death; their aborts may arrive first.
void HostsSupervisor::hold_back(HostLink& host, const Endings& endings) {
  host.alive -= static_cast<std::uint32_t>(endings.deaths.size());
  bool killed = false;
  for (const Death& death : endings.deaths) {
    killed = killed || death.ending.by_signal;
    held_back_.deaths.push_back(death);
  }
  held_back_.aborts.insert(held_back_.aborts.end(), endings.aborts.begin(), endings.aborts.end());
  held_back_.memory_ran_out = held_back_.memory_ran_out || endings.memory_ran_out;
  if (killed || control_.phase() != Phase::running) return weigh_held_back();
  // Ranks that exit in order after another rank has finished the job: its finish arrives by another channel.
  const auto exited_well = [](const Death& death) {
    return !death.ending.by_signal && death.ending.number == 0;
  };
  const bool all_well = held_back_.aborts.empty() && std::ranges::all_of(held_back_.deaths, exited_well);
  const std::uint64_t at_ns = os::monotonic_ns() + (all_well ? hold_back_exits_ns : hold_back_ns);
  weigh_at_ns_ = std::min(weigh_at_ns_.value_or(at_ns), at_ns);
}

void HostsSupervisor::weigh_held_back() {
  weigh_at_ns_.reset();
  control_.weigh(std::exchange(held_back_, {}));
}

void HostsSupervisor::take_output(HostLink& host, Message& message) {
  const auto bytes = static_cast<std::int64_t>(message.body.size());
  switch (message.kind) {
    case MessageKind::output:
      outputs_.output().write(std::move(message.body));
      host.output_bytes += bytes;
      return;
    case MessageKind::error:
      outputs_.error().write(std::move(message.body));
      host.error_bytes += bytes;
      return;
    case MessageKind::output_begun:
      host.begun_output += message.body;
      return;
    default:
      host.begun_error += message.body;
      return;
  }
}

// Acknowledges output, so that the proxies may send more, when the outputs have room.
void HostsSupervisor::grant_output() {
  const auto grant = [&](LineSink& sink, std::int64_t HostLink::*bytes, MessageKind taken, MessageKind closed,
                         bool& told_closed) {
    const bool tell = sink.broken() && !std::exchange(told_closed, told_closed || sink.broken());
    for (HostLink& host : hosts_) {
      if (!host.serves()) continue;
      if (tell) host.channel.send(closed);
      if (host.*bytes > 0 && !sink.full()) host.channel.send(taken, std::exchange(host.*bytes, 0));
    }
  };
  grant(outputs_.output(), &HostLink::output_bytes, MessageKind::output_taken, MessageKind::output_closed,
        output_told_closed_);
  grant(outputs_.error(), &HostLink::error_bytes, MessageKind::error_taken, MessageKind::error_closed,
        error_told_closed_);
}

// Writes lines that were begun and never completed, after all other lines.
void HostsSupervisor::write_begun_lines() {
  for (const HostLink& host : hosts_) {
    if (host.used()) return;
  }
  for (HostLink& host : hosts_) {
    outputs_.output().write(std::exchange(host.begun_output, {}));
    outputs_.error().write(std::exchange(host.begun_error, {}));
  }
}

}  // namespace musubi::launch
