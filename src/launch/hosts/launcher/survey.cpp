#include "launch/hosts/launcher/survey.h"

#include <utility>

namespace musubi::launch {

std::optional<std::uint64_t> ThreadStateSurvey::due_ns() const {
  if (round_ != Round::none) return std::nullopt;
  return watch_.due_ns();
}

void ThreadStateSurvey::look_if_due(std::uint64_t now_ns) {
  if (round_ == Round::none && (asked_ || watch_.due(now_ns))) begin(Round::look, MessageKind::look, {});
}

void ThreadStateSurvey::ask() {
  asked_ = true;
  look_if_due(0);
}

void ThreadStateSurvey::begin(Round round, MessageKind kind, std::string_view body) {
  round_ = round;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    answers_[i].awaited = hosts_[i].state == HostState::running;
    if (answers_[i].awaited) hosts_[i].channel.send(kind, 0, body);
  }
}

Result<void> ThreadStateSurvey::take(std::size_t host, const Message& message, std::uint64_t now_ns) {
  Answer& answer = answers_[host];
  if (message.kind == MessageKind::seen && round_ == Round::look) {
    MUSUBI_ASSIGN_OR_RETURN(answer.states, decode<std::vector<RankState>>(message.body));
    answer.awaited = false;
  } else if (message.kind == MessageKind::reported && round_ == Round::report) {
    answer.lines = message.body;
    answer.awaited = false;
  }
  go_on(now_ns);
  return {};
}

bool ThreadStateSurvey::complete() const {
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (answers_[i].awaited && hosts_[i].state == HostState::running) return false;
  }
  return true;
}

void ThreadStateSurvey::go_on(std::uint64_t now_ns) {
  if (round_ == Round::none || !complete()) return;
  if (round_ == Round::report) {
    report_ = heading_;
    for (Answer& answer : answers_) report_ += std::exchange(answer.lines, {});
    round_ = Round::none;
    return;
  }
  std::vector<RankState> all;
  for (Answer& answer : answers_) {
    for (RankState& state : answer.states) all.push_back(std::move(state));
    answer.states.clear();
  }
  const std::string states = encode(all);
  if (std::exchange(asked_, false)) {
    heading_ = "musubi: the threads of the job:";
  } else if (watch_.look(now_ns, std::move(all))) {
    heading_ = watch_.heading();
  } else {
    round_ = Round::none;
    return;
  }
  begin(Round::report, MessageKind::report, states);
}

std::string ThreadStateSurvey::take_report() {
  return std::exchange(report_, {});
}

}  // namespace musubi::launch
