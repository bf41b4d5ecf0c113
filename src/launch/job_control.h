// How the launcher's side ends a job: weighs events of the ranks, carries out the verdict, and forwards the
// user's signals. No I/O: actions go to `Commands`. The ranks may run anywhere.
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

// The result of one check of the ranks. Their frames were read before, so every finish has been reported by
// now.
struct Endings {
  std::vector<Death> deaths;
  std::vector<Abort> aborts;
  bool memory_ran_out = false;  // a rank was killed, and the kernel reports kills for lack of memory

  bool empty() const { return deaths.empty() && aborts.empty(); }
};

class JobControl {
 public:
  class Commands {
   public:
    virtual void signal_all(int number) = 0;  // all living ranks
    virtual void signal_rank_zero(int number) = 0;
    virtual void say(std::string line) = 0;  // to the user
    virtual void expect_no_prompt() = 0;     // the job is ending

   protected:
    ~Commands() = default;
  };

  JobControl(Verdict verdict, std::chrono::nanoseconds abort_timeout, Commands& commands)
      : verdict_(std::move(verdict)), abort_timeout_(abort_timeout), commands_(commands) {}

  Verdict& verdict() { return verdict_; }
  // Whether the verdict knows this failure of the output (errno); 0: there is none.
  bool knows_of(int failure_of_output) const { return failure_of_output == 0 || verdict_.output_is_lost(); }
  Phase phase() const { return verdict_.phase(); }
  int exit_status() const { return verdict_.exit_status(); }

  // Reports the root cause: a finish precedes the exits that it caused, and a death by a signal the aborts of
  // ranks that noticed it.
  void weigh(const Endings& endings);
  // Carries out the verdict so far; call it after each event and at the deadline.
  void follow(std::uint64_t now_ns);
  std::optional<std::uint64_t> deadline_ns() const { return kill_at_ns_; }

  // Handles a signal to the launcher, except that the caller must stop the launcher itself.
  void pass_on(UserSignal signal, std::uint64_t now_ns);
  // The user insists: exit without waiting for the output.
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
