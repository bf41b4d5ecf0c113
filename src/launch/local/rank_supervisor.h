// Supervises the ranks of this host: receives their frames, output and deaths, and passes on those that
// another object must decide about. Part of the loop of the launcher or of a proxy: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bootstrap/local/frame.h"
#include "launch/job_control.h"
#include "launch/launch_plan.h"
#include "launch/local/rank_link.h"
#include "launch/local/rank_process.h"
#include "launch/output_relay.h"
#include "launch/watcher.h"

namespace musubi::launch {

class RankSupervisor final : private PipeWatcher {
 public:
  // Receives the guard's events.
  class Listener {
   public:
    virtual void joined(Rank rank) = 0;
    virtual void finished(Rank rank, int status) = 0;
    // The blobs of all ranks of this host (frame.h); pass the result of the exchange to reply().
    virtual void gathered(std::shared_ptr<const std::string> blobs) = 0;
    virtual void crashed(std::string lines) = 0;  // of a dying rank: cause and backtrace
    virtual void ended(const Endings& endings) = 0;

   protected:
    ~Listener() = default;
  };
  // The subjects of the guard's files; the owner of the watcher has further ones.
  enum class Subject : std::uint32_t { output, error, frames, process, first_of_others };

  RankSupervisor(const LaunchPlan& plan, Watcher& watcher, std::vector<RankProcess> ranks, LineSink& output,
                 LineSink& error, Listener& listener);

  // False: the event is not of the guard's files.
  bool handle(const Watcher::Event& event);
  // Call it after all events of one wait: weighs them together.
  void settle();

  OutputRelay& relay() { return relay_; }
  // Rank 0 has joined: all other ranks execute the program, if they have waited for that.
  void welcome_others();
  // Sends the blobs of all ranks of the job to each rank here.
  void reply(const std::shared_ptr<const std::string>& blobs);
  void signal_all(int number);
  void signal(Rank rank, int number);
  // Stops the ranks that run on after SIGTSTP, which the kernel does not deliver without a terminal. Ranks
  // that ignore the signal run on.
  void stop_others();
  bool any_alive() const;
  // By rank of the job; 0 for a rank that has ended or is not here.
  std::vector<pid_t> living_processes() const;

 private:
  struct Member {
    RankProcess process;
    bool alive = true;
    bool has_more_to_say = false;  // has joined, and neither finished nor aborted
    std::string crash_cause;       // received, but not passed on yet
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
  std::vector<Abort> aborts_;                // read, but not weighed against deaths yet
  bool deaths_pending_ = false;
};

}  // namespace musubi::launch
