// Writes to one of the launcher's outputs without blocking the launcher: a thread does the writing.
// O_NONBLOCK instead would affect every process that shares the file, including the user's shell.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/mutex.h"

namespace musubi::launch {

// The destination of ranks' lines: an output of the launcher, or the launcher of a proxy.
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

// Makes foreign text harmless for a terminal: `text` with a question mark for each control character other
// than newline and tab, and for each byte that is no part of a UTF-8 character, because terminals obey some
// of them.
std::string printable(std::string_view text);

}  // namespace musubi::launch
