#include "launch/job_control.h"

#include <charconv>
#include <csignal>
#include <cstring>
#include <utility>

namespace musubi::launch {
namespace {

constexpr std::string_view rank_word = "rank ";

// A shell or another program in front reports itself if it does not find or cannot execute a program.
std::string without_joining(int status) {
  const bool was_said = status == 126 || status == 127;
  return std::string(" without joining the job") +
         (was_said
              ? ""
              : ": a program in front has lost LD_PRELOAD (sudo does, and one that is statically linked), or "
                "runs the program as its child (time, timeout, strace: put them in front of `musubi run`)");
}

}  // namespace

const int JobOutcome::signal_of_closed_pipe = SIGPIPE;

void JobOutcome::joined(Rank rank) {
  joined_.insert(rank.value);
  // The job uses the runtime after all, and would wait for that rank for ever.
  if (phase_ == Phase::running && left_before_joining_) {
    fail(left_before_joining_->first, left_before_joining_->second, 1, " exited without joining the job");
  }
}

void JobOutcome::finished(Rank rank, int status) {
  const bool finishes_too = phase_ == Phase::finishing || phase_ == Phase::leaving;
  if (phase_ == Phase::running) {
    exit_status_ = status & 0xff;  // the first one determines the job's status
    finisher_gives_status_ = status < 0;
  } else if (!finishes_too || rank != Rank{0}) {
    return;
  }
  phase_ = Phase::finishing;
  finisher_ = rank;
}

void JobOutcome::aborted(Rank rank, int process_id, int status, std::string_view reason) {
  if (phase_ != Phase::running) return;
  if ((status & 0xff) == 0) status = 1;
  const std::string text = with_hosts(reason);
  if (text.starts_with(rank_word)) return fail(status & 0xff, text);
  fail(rank, process_id, status & 0xff, ": " + text);
}

void JobOutcome::ended(Rank rank, int process_id, Ending ending) {
  --alive_;
  const bool asked_for = ending.by_signal && ((passed_on_ >> ending.number) & 1) != 0;
  // A crash in the exit handlers of the rank that finished is the program's crash, as without Musubi.
  const bool crash_while_finishing = phase_ == Phase::finishing && rank == finisher_ && ending.by_signal;
  if (phase_ == Phase::running || crash_while_finishing) {
    if (ending.by_signal) {
      const bool for_memory = ending.number == SIGKILL && memory_ran_out_;
      fail(rank, process_id, 128 + ending.number,
           " was killed by " + describe_signal(ending.number) +
               (for_memory ? " because memory ran out: give the job more memory, less data, or fewer ranks "
                             "(`musubi doctor` shows the limits)"
                           : ""));
      if (asked_for) message_.clear();
    } else if (plain_ && joined_.empty() && ending.number == 0) {
      left_before_joining_.emplace(rank, process_id);
    } else {
      fail(rank, process_id, ending.number != 0 ? ending.number : 1,
           " exited with status " + std::to_string(ending.number) +
               (plain_                         ? ""
                : joined_.contains(rank.value) ? " without ending the program"
                                               : without_joining(ending.number)));
    }
  } else if (phase_ == Phase::finishing && rank == finisher_) {
    phase_ = Phase::leaving;
    if (finisher_gives_status_) exit_status_ = ending.number;
  }
  if (alive_ == 0) phase_ = Phase::over;
}

void JobOutcome::output_lost(int error) {
  if (std::exchange(output_is_lost_, true)) return;
  loss_message_ = std::string("musubi: cannot write the job's output: ") + std::strerror(error) +
                  "; the job goes on, these lines are lost, and a status of success becomes 74";
}

std::string JobOutcome::take_message() {
  if (loss_message_.empty() || message_.empty())
    return std::exchange(loss_message_, {}) + std::exchange(message_, {});
  return std::exchange(loss_message_, {}) + "\n" + std::exchange(message_, {});
}

// After the job has finished, a host may be lost with its ranks, but not with the rank whose end is still
// awaited.
void JobOutcome::host_lost(RankRange ranks, std::uint32_t alive, std::string_view what) {
  alive_ -= alive;
  constexpr int status_of_lost_host = 125;
  const bool unfinished = phase_ == Phase::finishing && finisher_ && ranks.holds(*finisher_);
  if (phase_ == Phase::running || unfinished) fail(status_of_lost_host, what);
  if (alive_ == 0) phase_ = Phase::over;
}

std::string JobOutcome::on_host(Rank rank) const {
  return rank.value < hosts_.size() ? " on " + hosts_[rank.value] : "";
}

// Ranks know each other by number only.
std::string JobOutcome::with_hosts(std::string_view text) const {
  std::string told;
  std::size_t told_until = 0;
  for (std::size_t at = 0; (at = text.find(rank_word, at)) != std::string_view::npos;) {
    at += rank_word.size();
    Rank rank;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank.value);
    const auto after_number = static_cast<std::size_t>(end - text.data());
    const bool is_owner = after_number < text.size() && text[after_number] == '\'';  // "rank 3's"
    if (error != std::errc() || is_owner) continue;
    told.append(text.substr(told_until, after_number - told_until)).append(on_host(rank));
    told_until = after_number;
  }
  return told.append(text.substr(told_until));
}

void JobOutcome::fail(Rank rank, int process_id, int status, std::string_view what) {
  fail(status, std::string(rank_word) + std::to_string(rank.value) + " (pid " + std::to_string(process_id) +
                   on_host(rank) + ")" + std::string(what));
}

void JobOutcome::fail(int status, std::string_view what) {
  phase_ = Phase::failing;
  exit_status_ = status;
  message_ = "musubi: " + std::string(what) + "; ending the job";
}

std::string describe_signal(int signal) {
  std::string text = "signal " + std::to_string(signal);
  if (const char* name = ::sigabbrev_np(signal)) text += " (SIG" + std::string(name) + ")";
  return text;
}

void JobControl::weigh(const Endings& endings) {
  if (endings.memory_ran_out) outcome_.memory_ran_out();
  const auto weigh_deaths = [&](bool by_signal) {
    for (const Death& death : endings.deaths) {
      if (death.ending.by_signal == by_signal) outcome_.ended(death.rank, death.process_id, death.ending);
    }
  };
  weigh_deaths(true);
  for (const Abort& abort : endings.aborts) {
    outcome_.aborted(abort.rank, abort.process_id, abort.status, abort.reason);
  }
  weigh_deaths(false);
}

void JobControl::follow(std::uint64_t now_ns) {
  std::string message = outcome_.take_message();
  if (!message.empty()) commands_.say(std::move(message));
  if (outcome_.phase() != acted_on_) {
    acted_on_ = outcome_.phase();
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
  if (signal.number != SIGCONT && signal.number != SIGTSTP) outcome_.passed_on(signal.number);
  if (insistence_.insists(signal, now_ns)) {
    outcome_.passed_on(SIGKILL);
    abandoned_ = true;
    commands_.signal_all(SIGKILL);
  } else if (passing == Passing::all_ranks) {
    commands_.signal_all(signal.number);
  } else if (passing == Passing::rank_zero) {
    commands_.signal_rank_zero(signal.number);
  }
}

}  // namespace musubi::launch
