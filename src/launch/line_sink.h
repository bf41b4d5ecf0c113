// The destination of ranks' lines: an output of the launcher, or the launcher of a proxy.
#pragma once

#include <string>

namespace musubi::launch {

class LineSink {
 public:
  virtual ~LineSink() = default;

  virtual void write(std::string lines) = 0;  // queues any amount, in order
  // A begun line that will not be completed. Only further begun lines follow it.
  virtual void write_begun(std::string line) { write(std::move(line)); }
  virtual bool full() const = 0;    // enough is queued: produce no more for now
  virtual bool idle() const = 0;    // all lines are written, or can never be
  virtual bool broken() const = 0;  // the output has no reader; queued lines were dropped
};

}  // namespace musubi::launch
