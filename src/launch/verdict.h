// The rules by which a job ends, without any I/O. Events go in; actions, a message and the exit status come
// out.
//
//   running ──finish(status)──> finishing ──that rank has ended──> leaving ──all ended──> over
//      └──death, abort, loss──> failing ───────────all ended───────────────────────────> over
//
// - finishing: the rank that finished writes out its buffers and runs its exit handlers, for as long as it
// takes. Where several finish together, rank 0 is the one that has this time. Its word may come from another
// host than the first one, and later: even when the job is leaving.
//
// - leaving: the others get abort_timeout to end by themselves, then they are killed quietly.
//
// - failing: the others get SIGTERM, and SIGKILL after abort_timeout.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "launch/launch_plan.h"

namespace musubi::launch {

// How a process ended: by exit(status), or by a signal.
struct Ending {
  bool by_signal = false;
  int number = 0;  // exit status or signal
};

enum class Phase { running, finishing, leaving, failing, over };

class Verdict {
 public:
  // `plain`: programs that never join the job; for them exit(0) is orderly. `hosts`: the name of each rank's
  // host, by rank; empty: all run on this one.
  Verdict(std::uint32_t ranks, bool plain, std::vector<std::string> hosts = {})
      : plain_(plain), alive_(ranks), hosts_(std::move(hosts)) {}

  void joined(Rank rank);
  // `status` below 0: the one with which the process ends, which has become another program.
  void finished(Rank rank, int status);
  // A reason that begins with "rank N" is told as it is; any other one as that of this rank. Behind each
  // "rank N" of it comes the host.
  void aborted(Rank rank, int process_id, int status, std::string_view reason);
  void ended(Rank rank, int process_id, Ending ending);
  // A host is gone, with `alive` ranks among `ranks` whose ends are not known. `what`: the host, and why.
  void host_lost(RankRange ranks, std::uint32_t alive, std::string_view what);

  // A signal was passed on to the ranks: to die of it is what the user asked for, and needs no line.
  void passed_on(int signal) { passed_on_ |= 1ull << signal; }
  // The kernel has killed processes for want of memory since the job began: a rank that dies of SIGKILL was
  // one of them.
  void memory_ran_out() { memory_ran_out_ = true; }
  // Nobody reads the output any more: to die of SIGPIPE is the usual end then.
  void output_closed() { passed_on(signal_of_closed_pipe); }
  // A part of the output could not be written (errno). The program goes on, as it does without Musubi.
  void output_lost(int error);
  bool output_is_lost() const { return output_is_lost_; }

  Phase phase() const { return phase_; }
  // The job's exit status: that of finish(), 128+signal when a rank died of a signal, the status of abort()
  // or of the exit without finish() (1 when that was 0); where all of these are well and output was lost, 74.
  int exit_status() const {
    return exit_status_ == 0 && output_is_lost_ ? status_of_lost_output : exit_status_;
  }
  // The one line that explains a failure (no newline), once; then empty.
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

}  // namespace musubi::launch
