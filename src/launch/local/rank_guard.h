// Watches the ranks that run on this host: hears of their frames, output and deaths, and hands on what
// somebody else has to decide. Part of the launcher's loop, or of a proxy's: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/local/frame.h"
#include "launch/gather_round.h"
#include "launch/job_control.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_process.h"
#include "launch/output_relay.h"
#include "launch/watcher.h"

namespace musubi::launch {

class RankGuard final : private PipeWatcher {
 public:
  // What the guard hears.
  class Listener {
   public:
    virtual void joined(Rank rank) = 0;
    virtual void finished(Rank rank, int status) = 0;
    // The blobs of all ranks here (gathered.h): the exchange's result goes to reply().
    virtual void gathered(std::shared_ptr<const std::string> blobs) = 0;
    virtual void crashed(std::string lines) = 0;  // of a rank that dies: the cause, and where
    virtual void ended(const Endings& endings) = 0;

   protected:
    ~Listener() = default;
  };
  // The subjects of its files; the owner of the watcher has others.
  enum class Subject : std::uint32_t { output, error, frames, process, first_of_others };

  RankGuard(const LaunchPlan& plan, Watcher& watcher, std::vector<RankProcess> ranks, LineSink& output,
            LineSink& error, Listener& listener);

  // False: the event is not of the guard's files.
  bool handle(const Watcher::Event& event);
  // To be called behind all events of one wait: weighs together what they told.
  void settle();

  OutputRelay& relay() { return relay_; }
  // Rank 0 has joined: the others become the program, where they have waited for that.
  void welcome_others();
  // The blobs of all ranks of the job, to each rank here.
  void reply(const std::shared_ptr<const std::string>& blobs);
  void signal_all(int number);
  void signal(Rank rank, int number);
  // Stops the ranks that run on after SIGTSTP, which the kernel keeps from processes without a terminal.
  // Those that ignore the signal run on.
  void stop_others();
  bool any_alive() const;
  // By rank of the job; 0 where it has ended or is not here.
  std::vector<pid_t> living_processes() const;

 private:
  struct Member {
    RankProcess process;
    bool alive = true;
    bool has_more_to_say = false;  // has joined, and neither finished nor aborted
    std::string crash_cause;       // told, but not yet passed on
  };

  void watch(int descriptor, Rank rank, Stream stream) override;
  void unwatch(int descriptor) override;
  Member& member(Rank rank) { return members_[ranks_.index(rank)]; }
  void read_frames(Rank rank);
  void link_ended(Rank rank);
  void take_frame(Rank rank, bootstrap::local::Frame& frame);
  void tell_crash(Rank rank, const std::string& frames);
  void abort(Rank rank, int status, std::string reason);
  void broken_protocol(Rank rank);
  void send_reply(Rank rank);

  const LaunchPlan& plan_;
  const RankRange ranks_;
  Watcher& watcher_;
  Listener& listener_;
  std::vector<Member> members_;
  GatherRound gather_;
  OutputRelay relay_;
  const std::uint64_t memory_kills_before_;  // of the machine, before the job
  std::vector<Abort> aborts_;                // read, but not yet weighed against deaths
  bool deaths_pending_ = false;
};

}  // namespace musubi::launch
