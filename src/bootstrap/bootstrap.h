// PORT bootstrap: how a process learns its place in the job, exchanges addresses at start, and ends the job.
// Drivers: local (started by `musubi run` on this host).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace musubi::bootstrap {

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual Rank self() const noexcept = 0;
  virtual std::uint32_t ranks() const noexcept = 0;

  // Collective: every rank gives a blob and receives all of them, by rank. Blocks until all have called.
  virtual Result<std::vector<std::string>> all_gather(std::string_view blob) = 0;

  // Tells the launcher that this rank is about to end the job with `status` in an orderly way (exit of the
  // program); from now on the end of any rank is no failure. Signal-safe.
  virtual void finish(int status) noexcept = 0;

  // Ends the whole job at once, as a failure: one line with `reason`, the exit status `status`. Does not
  // return.
  [[noreturn]] virtual void abort(int status, std::string_view reason) noexcept = 0;
};

}  // namespace musubi::bootstrap
