// Writes to one of the launcher's outputs without blocking the launcher: a thread does the writing.
// O_NONBLOCK instead would affect every process that shares the file, including the user's shell.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "launch/line_sink.h"

namespace musubi::launch {

class OutputSink final : public LineSink {
 public:
  // Writes to `descriptor`, and adds 1 to the eventfd `progress_event` whenever full() or idle() may have
  // changed. Both belong to the caller. REQUIRES: all signals that the process handles are blocked (the
  // thread inherits this).
  OutputSink(int descriptor, int progress_event);
  // Blocks until all is written.
  ~OutputSink() override;
  OutputSink(const OutputSink&) = delete;
  OutputSink& operator=(const OutputSink&) = delete;

  void write(std::string text) override;
  bool full() const override;
  bool idle() const override;
  bool broken() const override;
  // The first error other than a closed pipe, as errno; 0: none. The failed text is lost; later text is still
  // written.
  int failure() const;

 private:
  void run();
  int write_all(const std::string& text);

  const int descriptor_;
  const int progress_event_;
  mutable Mutex mutex_;
  Condition changed_;
  std::string queued_ MUSUBI_GUARDED_BY(mutex_);
  std::size_t in_flight_bytes_ MUSUBI_GUARDED_BY(mutex_) = 0;
  bool broken_ MUSUBI_GUARDED_BY(mutex_) = false;
  int failure_ MUSUBI_GUARDED_BY(mutex_) = 0;
  bool closing_ MUSUBI_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last, because it starts at once
};

// The launcher's stdout and stderr. They share one sink if they are the same file, so that lines do not mix.
class StandardOutputs {
 public:
  // As for OutputSink.
  explicit StandardOutputs(int progress_event);

  LineSink& output() { return output_; }
  LineSink& error() { return error_ ? *error_ : output_; }
  bool idle() const { return output_.idle() && (!error_ || error_->idle()); }
  bool full() const { return output_.full() || (error_ && error_->full()); }
  bool broken() const { return output_.broken() || (error_ && error_->broken()); }
  int failure() const { return output_.failure() != 0 || !error_ ? output_.failure() : error_->failure(); }

 private:
  OutputSink output_;
  std::optional<OutputSink> error_;
};

}  // namespace musubi::launch
