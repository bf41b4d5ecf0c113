// How the launcher's side ends a job: weighs events of the ranks, carries out the verdict, and forwards the
// user's signals. No I/O: actions go to `Commands`. The ranks may run anywhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "launch/launch_plan.h"
#include "launch/user_signals.h"

namespace musubi::launch {

// The rules by which a job ends, without I/O. Input: events; output: actions, a message and the exit status.
//
//   running ──finish(status)──> finishing ──that rank has ended──> leaving ──all ended──> over
//      └──death, abort, loss──> failing ───────────all ended───────────────────────────> over
//
// - finishing: the rank that finished writes out its buffers and runs its exit handlers, without a time
//   limit. If several ranks finish, this is rank 0. Its finish may come from another host than the first one,
//   and later: even when the job is leaving.
//
// - leaving: all other ranks may end by themselves for abort_timeout, then they are killed silently.
//
// - failing: all other ranks get SIGTERM, and SIGKILL after abort_timeout.

// How a process ended: by exit(status), or by a signal.
struct Ending {
  bool by_signal = false;
  int number = 0;  // exit status or signal
};

enum class Phase { running, finishing, leaving, failing, over };

class JobOutcome {
 public:
  // `plain`: the programs never join the job, and exit(0) is orderly for them. `hosts`: the host name of each
  // rank, by rank; empty: all run on this host.
  JobOutcome(std::uint32_t ranks, bool plain, std::vector<std::string> hosts = {})
      : plain_(plain), alive_(ranks), hosts_(std::move(hosts)) {}

  void joined(Rank rank);
  // `status` below 0: the exit status of the process, which has become another program.
  void finished(Rank rank, int status);
  // A reason that begins with "rank N" is reported unchanged, any other as the reason of this rank. The
  // host is added after each "rank N" in it.
  void aborted(Rank rank, int process_id, int status, std::string_view reason);
  void ended(Rank rank, int process_id, Ending ending);
  // A host is lost, with `alive` ranks of `ranks` whose ends are unknown. `what` names the host and the
  // cause.
  void host_lost(RankRange ranks, std::uint32_t alive, std::string_view what);

  // A signal was forwarded to the ranks: the user asked for deaths by it, which need no message.
  void passed_on(int signal) { passed_on_ |= 1ull << signal; }
  // The kernel has killed processes for lack of memory since the job began: a rank that dies of SIGKILL
  // counts as one of them.
  void memory_ran_out() { memory_ran_out_ = true; }
  // The output has no reader any more: deaths by SIGPIPE are then normal.
  void output_closed() { passed_on(signal_of_closed_pipe); }
  // A part of the output could not be written (errno). The program continues, as without Musubi.
  void output_lost(int error);
  bool output_is_lost() const { return output_is_lost_; }

  Phase phase() const { return phase_; }
  // The job's exit status: that of finish(); 128+signal if a rank died of a signal; the status of abort() or
  // of an exit without finish() (1 if that was 0); 74 if it would be 0 but output was lost.
  int exit_status() const {
    return exit_status_ == 0 && output_is_lost_ ? status_of_lost_output : exit_status_;
  }
  // The line that explains a failure (no newline), once; then empty.
  std::string take_message();

 private:
  static const int signal_of_closed_pipe;
  static constexpr int status_of_lost_output = 74;  // EX_IOERR of sysexits.h

  std::string on_host(Rank rank) const;
  std::string with_hosts(std::string_view text) const;
  void fail(Rank rank, int process_id, int status, std::string_view what);
  void fail(int status, std::string_view what);

  bool plain_;
  std::uint32_t alive_;
  std::vector<std::string> hosts_;
  Phase phase_ = Phase::running;
  int exit_status_ = 0;
  std::optional<Rank> finisher_;
  std::uint64_t passed_on_ = 0;
  bool memory_ran_out_ = false;
  bool output_is_lost_ = false;
  std::set<std::uint32_t> joined_;
  bool finisher_gives_status_ = false;
  std::optional<std::pair<Rank, int>> left_before_joining_;  // rank and process id
  std::string message_, loss_message_;
};

// `signal 9 (SIGKILL)`
std::string describe_signal(int signal);

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

  JobControl(JobOutcome outcome, std::chrono::nanoseconds abort_timeout, Commands& commands)
      : outcome_(std::move(outcome)), abort_timeout_(abort_timeout), commands_(commands) {}

  JobOutcome& outcome() { return outcome_; }
  // Whether the verdict knows this failure of the output (errno); 0: there is none.
  bool knows_of(int failure_of_output) const { return failure_of_output == 0 || outcome_.output_is_lost(); }
  Phase phase() const { return outcome_.phase(); }
  int exit_status() const { return outcome_.exit_status(); }

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
  JobOutcome outcome_;
  const std::chrono::nanoseconds abort_timeout_;
  Commands& commands_;
  Insistence insistence_;
  Phase acted_on_ = Phase::running;
  std::optional<std::uint64_t> kill_at_ns_;
  bool abandoned_ = false;
};

}  // namespace musubi::launch
