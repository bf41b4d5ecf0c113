// How a rank leaves the job or ends it.
#pragma once

#include <string_view>

namespace musubi::runtime {

class Ending {
 public:
  // Whether finish() is collective: ranks send rank 0 the data that it prints. The same on every rank.
  virtual bool finishes_together() const noexcept = 0;
  // Prints a note on the program's data races and, if requested, the statistics of the job, and tells the
  // launcher that the job ends with `status`. The caller then leaves the process.
  virtual void finish(int status) = 0;
  // The same while other ranks are still at work (exit inside a parallel region, _exit): not collective,
  // prints no statistics; the launcher then ends the other ranks. The caller leaves the process. Any thread.
  virtual void leave(int status) noexcept = 0;
  // Ends the job at once as a failure, with `status` and a one-line message.
  [[noreturn]] virtual void abort(int status, std::string_view reason) = 0;

 protected:
  ~Ending() = default;
};

}  // namespace musubi::runtime
