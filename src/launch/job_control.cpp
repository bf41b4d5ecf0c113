#include "launch/job_control.h"

#include <csignal>

namespace musubi::launch {

void JobControl::weigh(const Endings& endings) {
  if (endings.memory_ran_out) verdict_.memory_ran_out();
  const auto weigh_deaths = [&](bool by_signal) {
    for (const Death& death : endings.deaths) {
      if (death.ending.by_signal == by_signal) verdict_.ended(death.rank, death.process_id, death.ending);
    }
  };
  weigh_deaths(true);
  for (const Abort& abort : endings.aborts) {
    verdict_.aborted(abort.rank, abort.process_id, abort.status, abort.reason);
  }
  weigh_deaths(false);
}

void JobControl::follow(std::uint64_t now_ns) {
  std::string message = verdict_.take_message();
  if (!message.empty()) commands_.say(std::move(message));
  if (verdict_.phase() != acted_on_) {
    acted_on_ = verdict_.phase();
    commands_.expect_no_prompt();
    if (acted_on_ == Phase::failing) {
      commands_.signal_all(SIGTERM);
      commands_.signal_all(SIGCONT);  // a stopped rank would not notice SIGTERM
    }
    const bool ending = acted_on_ == Phase::failing || acted_on_ == Phase::leaving;
    if (ending) kill_at_ns_ = now_ns + static_cast<std::uint64_t>(abort_timeout_.count());
    if (acted_on_ == Phase::over || acted_on_ == Phase::finishing) kill_at_ns_.reset();
  }
  if (kill_at_ns_ && now_ns >= *kill_at_ns_) {
    commands_.signal_all(SIGKILL);
    kill_at_ns_.reset();
  }
}

void JobControl::pass_on(UserSignal signal, std::uint64_t now_ns) {
  const Passing passing = passing_of(signal);
  if (signal.number != SIGCONT && signal.number != SIGTSTP) verdict_.passed_on(signal.number);
  if (insistence_.insists(signal, now_ns)) {
    verdict_.passed_on(SIGKILL);
    abandoned_ = true;
    commands_.signal_all(SIGKILL);
  } else if (passing == Passing::all_ranks) {
    commands_.signal_all(signal.number);
  } else if (passing == Passing::rank_zero) {
    commands_.signal_rank_zero(signal.number);
  }
}

}  // namespace musubi::launch
