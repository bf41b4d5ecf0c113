// How the launcher's side ends a job: weighs what it hears of the ranks, follows the verdict, passes on the
// user's signals. Performs no I/O; what is to be done is told to `Commands`. The ranks may run anywhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "launch/user_signals.h"
#include "launch/verdict.h"

namespace musubi::launch {

struct Death {
  Rank rank;
  int process_id;
  Ending ending;
};

struct Abort {
  Rank rank;
  int process_id;
  int status;
  std::string reason;
};

// What one look at ranks has found. Their frames were read before, so a finish has been told by now.
struct Endings {
  std::vector<Death> deaths;
  std::vector<Abort> aborts;
  bool memory_ran_out = false;  // a rank was killed, and the kernel says that it kills for want of memory

  bool empty() const { return deaths.empty() && aborts.empty(); }
};

class JobControl {
 public:
  class Commands {
   public:
    virtual void signal_all(int number) = 0;  // the ranks that live
    virtual void signal_rank_zero(int number) = 0;
    virtual void say(std::string line) = 0;  // to the user
    virtual void expect_no_prompt() = 0;     // the job is ending

   protected:
    ~Commands() = default;
  };

  JobControl(Verdict verdict, std::chrono::nanoseconds abort_timeout, Commands& commands)
      : verdict_(std::move(verdict)), abort_timeout_(abort_timeout), commands_(commands) {}

  Verdict& verdict() { return verdict_; }
  // Whether this failure of the job's output, as errno, has been told to the verdict; 0: there is none.
  bool knows_of(int failure_of_output) const { return failure_of_output == 0 || verdict_.output_is_lost(); }
  Phase phase() const { return verdict_.phase(); }
  int exit_status() const { return verdict_.exit_status(); }

  // The cause of the rest is reported: a finish comes before the exits that it led to, and a death by a
  // signal before the aborts of ranks that noticed it.
  void weigh(const Endings& endings);
  // Does what the verdict asks for by now; to be called when something was heard, and at the deadline.
  void follow(std::uint64_t now_ns);
  std::optional<std::uint64_t> deadline_ns() const { return kill_at_ns_; }

  // A signal for the launcher; to stop it is the caller's part.
  void pass_on(UserSignal signal, std::uint64_t now_ns);
  // The user insists: not even the output is waited for.
  bool abandoned() const { return abandoned_; }

 private:
  Verdict verdict_;
  const std::chrono::nanoseconds abort_timeout_;
  Commands& commands_;
  Insistence insistence_;
  Phase acted_on_ = Phase::running;
  std::optional<std::uint64_t> kill_at_ns_;
  bool abandoned_ = false;
};

}  // namespace musubi::launch
