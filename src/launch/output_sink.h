// Writes to one of the launcher's own outputs without ever blocking the launcher: a thread does the writing.
// O_NONBLOCK instead would change the file for every process that shares it, the user's shell among them.
#pragma once

#include <cstddef>
#include <string>
#include <thread>

#include "base/mutex.h"

namespace musubi::launch {

class OutputSink {
 public:
  // Writes to `descriptor`, and adds 1 to the eventfd `progress_event` whenever full() or idle() may have
  // changed. Both belong to the caller. REQUIRES: all signals that the process handles are blocked (the
  // thread inherits it).
  OutputSink(int descriptor, int progress_event);
  // Waits until all is written.
  ~OutputSink();
  OutputSink(const OutputSink&) = delete;
  OutputSink& operator=(const OutputSink&) = delete;

  void write(std::string text);  // queues any amount, in order
  bool full() const;             // enough is queued: produce no more for now
  bool idle() const;             // all is written, or can never be
  bool broken() const;           // nobody reads any more; what is queued was thrown away

 private:
  void run();
  bool write_all(const std::string& text);

  const int descriptor_;
  const int progress_event_;
  mutable Mutex mutex_;
  Condition changed_;
  std::string queued_ MUSUBI_GUARDED_BY(mutex_);
  std::size_t in_flight_bytes_ MUSUBI_GUARDED_BY(mutex_) = 0;
  bool broken_ MUSUBI_GUARDED_BY(mutex_) = false;
  bool closing_ MUSUBI_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: starts when all else stands
};

}  // namespace musubi::launch
