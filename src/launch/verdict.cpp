#include "launch/verdict.h"

#include <csignal>
#include <cstring>
#include <utility>

namespace musubi::launch {

const int Verdict::signal_of_closed_pipe = SIGPIPE;

void Verdict::joined(Rank) {
  any_joined_ = true;
  // A job of the runtime after all, and it would wait for that rank for ever.
  if (phase_ == Phase::running && left_before_joining_) {
    fail(left_before_joining_->first, left_before_joining_->second, 1, " exited without joining the job");
  }
}

void Verdict::finished(Rank rank, int status) {
  const bool finishes_too = phase_ == Phase::finishing || phase_ == Phase::leaving;
  if (phase_ == Phase::running) {
    exit_status_ = status & 0xff;  // the first one speaks for the job
  } else if (!finishes_too || rank != Rank{0}) {
    return;
  }
  phase_ = Phase::finishing;
  finisher_ = rank;
}

void Verdict::aborted(Rank rank, int process_id, int status, std::string_view reason) {
  if (phase_ != Phase::running) return;
  fail(rank, process_id, (status & 0xff) != 0 ? status & 0xff : 1, ": " + std::string(reason));
}

void Verdict::ended(Rank rank, int process_id, Ending ending) {
  --alive_;
  const bool asked_for = ending.by_signal && ((passed_on_ >> ending.number) & 1) != 0;
  // A crash in the exit handlers of the rank that finished is the program's crash, as it were without Musubi.
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
    } else if (plain_ && !any_joined_ && ending.number == 0) {
      left_before_joining_.emplace(rank, process_id);
    } else {
      fail(rank, process_id, ending.number != 0 ? ending.number : 1,
           " exited with status " + std::to_string(ending.number) +
               (plain_ ? "" : " without ending the program"));
    }
  } else if (phase_ == Phase::finishing && rank == finisher_) {
    phase_ = Phase::leaving;
  }
  if (alive_ == 0) phase_ = Phase::over;
}

std::string Verdict::take_message() {
  return std::exchange(message_, {});
}

// Once the job has finished, its ranks may go with their host: but not the one whose end is still to be seen.
void Verdict::host_lost(RankRange ranks, std::uint32_t alive, std::string_view what) {
  alive_ -= alive;
  constexpr int status_of_lost_host = 125;
  const bool unfinished = phase_ == Phase::finishing && finisher_ && ranks.holds(*finisher_);
  if (phase_ == Phase::running || unfinished) fail(status_of_lost_host, what);
  if (alive_ == 0) phase_ = Phase::over;
}

void Verdict::fail(Rank rank, int process_id, int status, std::string_view what) {
  const std::string host = rank.value < hosts_.size() ? " on " + hosts_[rank.value] : "";
  fail(status, "rank " + std::to_string(rank.value) + " (pid " + std::to_string(process_id) + host + ")" +
                   std::string(what));
}

void Verdict::fail(int status, std::string_view what) {
  phase_ = Phase::failing;
  exit_status_ = status;
  message_ = "musubi: " + std::string(what) + "; ending the job";
}

std::string describe_signal(int signal) {
  std::string text = "signal " + std::to_string(signal);
  if (const char* name = ::sigabbrev_np(signal)) text += " (SIG" + std::string(name) + ")";
  return text;
}

}  // namespace musubi::launch
