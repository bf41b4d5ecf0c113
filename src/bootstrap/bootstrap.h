// PORT bootstrap: how a process learns its place in the job, exchanges addresses at start, and ends the job.
// Drivers: local (started by `musubi run` on this host).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "trace/event_log.h"
#include "trace/wait_records.h"

namespace musubi::bootstrap {

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual Rank self() const noexcept = 0;
  virtual std::uint32_t ranks() const noexcept = 0;

  // Collective: every rank gives a blob and receives all of them, by rank. Blocks until all have called.
  virtual Result<std::vector<std::string>> all_gather(std::string_view blob) = 0;

  // Where this rank's threads say what they wait for, for the launcher to read; null when nobody reads.
  virtual trace::WaitBoard* wait_board() noexcept { return nullptr; }

  // Where they record events, for the launcher to write; an empty one when there is no trace.
  virtual trace::EventLog event_log() noexcept { return {}; }

  // For a rank that dies by a signal: has somebody else, who is well, tell the user the cause, and then, by
  // their names, the frames (addresses of instructions, the innermost first). Result of tell_frames: whether
  // both have been told; waits for that some seconds at most. Signal-safe.
  virtual bool tells_crashes() const noexcept { return false; }
  virtual void tell_crash(std::string_view /*cause*/) noexcept {}
  virtual bool tell_frames(std::span<const std::uintptr_t> /*frames*/) noexcept { return false; }

  // Tells the launcher that this rank is about to end the job with `status` in an orderly way (exit of the
  // program); from now on the end of any rank is no failure. Signal-safe.
  virtual void finish(int status) noexcept = 0;

  // Ends the whole job at once, as a failure: one line with `reason`, the exit status `status`. Does not
  // return.
  [[noreturn]] virtual void abort(int status, std::string_view reason) noexcept = 0;
};

}  // namespace musubi::bootstrap
