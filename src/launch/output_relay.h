// Carries what the ranks of this host print to the sinks of stdout and stderr: whole lines, nothing lost, and
// no faster than these take it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "launch/launch_plan.h"
#include "launch/line_buffer.h"
#include "launch/line_sink.h"
#include "os/memory.h"

namespace musubi::launch {

enum class Stream : std::uint32_t { output = 0, error = 1 };

// Where the relay announces the pipes that it wants to hear of.
class PipeWatcher {
 public:
  virtual void watch(int descriptor, Rank rank, Stream stream) = 0;
  virtual void unwatch(int descriptor) = 0;

 protected:
  ~PipeWatcher() = default;
};

class OutputRelay {
 public:
  // The sinks may be one. When their full() or idle() may have changed, progressed() is to be called.
  OutputRelay(PipeWatcher& watcher, RankRange ranks, bool label_lines, LineSink& output, LineSink& error);

  // The read ends of one rank's pipes, non-blocking. For the ranks in order.
  void add_rank(os::FileDescriptor output, os::FileDescriptor error);

  void readable(Rank rank, Stream stream, std::uint64_t now_ns);
  void progressed(std::uint64_t now_ns);
  // The rank is dead: what its pipes still hold is all that will ever come.
  void rank_ended(Rank rank, std::uint64_t now_ns);
  // Rank 0 may have printed a prompt and wait for its answer: begun lines of it go out when it has been quiet
  // for a while. flush_quiet() does so for all that are due; the deadline tells when the next will be.
  void flush_quiet(std::uint64_t now_ns);
  std::optional<std::uint64_t> quiet_deadline_ns() const;
  // The job is ending: nobody waits for an answer.
  void expect_no_prompt() { prompts_ = false; }

  bool closed() const;  // all pipes are, and what they held is in the sinks

 private:
  struct Channel {
    Rank rank;
    Stream stream;
    os::FileDescriptor pipe;
    LineBuffer lines;
    bool watched;
    bool ended;
    std::uint64_t last_bytes_ns;
    bool ends_with_whole_block;
  };
  LineSink& sink(Stream stream) const { return stream == Stream::output ? output_ : error_; }
  // Of rank 0, which may print prompts.
  std::size_t prompting_channels() const {
    return ranks_.first == 0 ? std::min<std::size_t>(2, channels_.size()) : 0;
  }
  static std::uint64_t quiet_from_ns(const Channel& channel);
  static bool may_be_prompt(const Channel& channel);
  void pump(Channel& channel, std::uint64_t now_ns);
  void close(Channel& channel);
  void flush_last_lines(const LineSink& target);
  void set_watched(Channel& channel, bool watched);

  PipeWatcher& watcher_;
  const RankRange ranks_;
  const bool label_lines_;
  bool prompts_ = true;
  LineSink& output_;
  LineSink& error_;
  std::vector<Channel> channels_;
  std::string scratch_;
};

}  // namespace musubi::launch
