// Carries the output of this host's ranks to the sinks of stdout and stderr: whole lines, without loss, at
// the speed of the sinks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "launch/launch_plan.h"
#include "launch/output_sink.h"
#include "os/memory.h"

namespace musubi::launch {

// Cuts the output of one rank into whole lines, so that lines of several ranks never mix.
class LineBuffer {
 public:
  // `label` precedes each line; empty: the bytes are unchanged.
  explicit LineBuffer(std::string label) : label_(std::move(label)) {}

  // Adds `bytes`, and appends the completed lines to `out`. A line beyond 16 MiB is split.
  void add(std::string_view bytes, std::string& out);
  // Appends the begun line to `out`, as a prompt or at the end of the output. A labelled line is completed by
  // a newline, so that the next label does not follow it directly.
  void flush(std::string& out);

  std::size_t begun_bytes() const { return begun_.size(); }  // size of the begun line

 private:
  void emit(std::string_view bytes, std::string& out);

  std::string label_;
  std::string begun_;
};

enum class Stream : std::uint32_t { output = 0, error = 1 };

// Watches pipes for the relay.
class PipeWatcher {
 public:
  virtual void watch(int descriptor, Rank rank, Stream stream) = 0;
  virtual void unwatch(int descriptor) = 0;

 protected:
  ~PipeWatcher() = default;
};

class OutputRelay {
 public:
  // Both sinks may be the same. Call progressed() whenever their full() or idle() may have changed.
  OutputRelay(PipeWatcher& watcher, RankRange ranks, bool label_lines, LineSink& output, LineSink& error);

  // Adds the read ends of one rank's pipes, non-blocking. Ranks in order.
  void add_rank(os::FileDescriptor output, os::FileDescriptor error);

  void readable(Rank rank, Stream stream, std::uint64_t now_ns);
  void progressed(std::uint64_t now_ns);
  // The rank is dead: its pipes receive no more data.
  void rank_ended(Rank rank, std::uint64_t now_ns);
  // Rank 0 may have printed a prompt and wait for the answer: after a quiet time its begun lines are written.
  // flush_quiet() writes those that are due; the deadline is the time of the next one.
  void flush_quiet(std::uint64_t now_ns);
  std::optional<std::uint64_t> quiet_deadline_ns() const;
  // The job is ending: no rank waits for an answer.
  void expect_no_prompt() { prompts_ = false; }

  bool closed() const;  // all pipes are, and their data are in the sinks

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
  // The channels of rank 0, which may print prompts.
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
