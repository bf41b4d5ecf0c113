// How a rank leaves the job, and how it ends it.
#pragma once

#include <string_view>

namespace musubi::runtime {

class Ending {
 public:
  // Whether finish() is collective: ranks tell rank 0 what it prints. The same at every rank.
  virtual bool finishes_together() const noexcept = 0;
  // Prints that the program has data races, and the statistics of the job when asked for, and tells the
  // launcher that the job ends with `status`. The caller then leaves the process.
  virtual void finish(int status) = 0;
  // The same while other ranks are still at work (exit inside a parallel region, _exit): not collective,
  // prints no statistics; the launcher then ends the others. The caller leaves the process. Any thread.
  virtual void leave(int status) noexcept = 0;
  // Ends the job at once as a failure: one line, status.
  [[noreturn]] virtual void abort(int status, std::string_view reason) = 0;

 protected:
  ~Ending() = default;
};

}  // namespace musubi::runtime
