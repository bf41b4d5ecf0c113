// Where the lines of ranks go: to an output of the launcher, or from a proxy to its launcher.
#pragma once

#include <string>

namespace musubi::launch {

class LineSink {
 public:
  virtual ~LineSink() = default;

  virtual void write(std::string lines) = 0;  // queues any amount, in order
  // A line that was begun and that nobody will end. None of this sink's lines follows it.
  virtual void write_begun(std::string line) { write(std::move(line)); }
  virtual bool full() const = 0;    // enough is queued: produce no more for now
  virtual bool idle() const = 0;    // all is written, or can never be
  virtual bool broken() const = 0;  // nobody reads any more; what is queued was thrown away
};

}  // namespace musubi::launch
