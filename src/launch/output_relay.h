// Carries what the ranks print to the launcher's own stdout and stderr: whole lines, nothing lost, and no
// faster than the reader of the launcher takes it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "launch/line_buffer.h"
#include "launch/output_sink.h"
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
  // `progress_event`: an eventfd that becomes readable when progressed() should be called.
  OutputRelay(PipeWatcher& watcher, std::uint32_t ranks, bool label_lines, int progress_event);

  // The read ends of one rank's pipes, non-blocking. For ranks 0, 1, ... in order.
  void add_rank(os::FileDescriptor output, os::FileDescriptor error);

  void readable(Rank rank, Stream stream, std::uint64_t now_ns);
  void progressed(std::uint64_t now_ns);
  // The rank is dead: what its pipes still hold is all that will ever come.
  void rank_ended(Rank rank, std::uint64_t now_ns);
  // A line of the launcher's own, on stderr.
  void say(std::string line);

  // Rank 0 may have printed a prompt and wait for its answer: begun lines of it go out when it has been quiet
  // for a while. flush_quiet() does so for all that are due; the deadline tells when the next will be.
  void flush_quiet(std::uint64_t now_ns);
  std::optional<std::uint64_t> quiet_deadline_ns() const;
  // The job is ending: nobody waits for an answer.
  void expect_no_prompt() { prompts_ = false; }

  bool drained() const;      // all pipes are closed and all is written
  bool reader_gone() const;  // stdout or stderr of the launcher was closed by its reader

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
  OutputSink& sink(Stream stream) const {
    return stream == Stream::output || error_sink_ == nullptr ? *output_sink_ : *error_sink_;
  }
  static std::uint64_t quiet_from_ns(const Channel& channel);
  static bool may_be_prompt(const Channel& channel);
  void pump(Channel& channel, std::uint64_t now_ns);
  void close(Channel& channel);
  void flush_last_lines(const OutputSink& target);
  void set_watched(Channel& channel, bool watched);

  PipeWatcher& watcher_;
  const bool label_lines_;
  bool prompts_ = true;
  std::unique_ptr<OutputSink> output_sink_;
  std::unique_ptr<OutputSink> error_sink_;  // null: stderr is the same file as stdout
  std::vector<Channel> channels_;
  std::string scratch_;
};

}  // namespace musubi::launch
