// PORT bootstrap: how a process learns its place in the job, exchanges addresses at start, and ends the job.
// Drivers: local (started by `musubi run` on this host). Conformance: tests/conformance/bootstrap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "bootstrap/hosts.h"
#include "trace/event_log.h"
#include "trace/wait_records.h"

namespace musubi::bootstrap {

// What one rank may give to an exchange.
inline constexpr std::size_t blob_bytes_max = 1 << 20;

// A process of this host that carries a rank's messages to other hosts, and its file, in which they lie.
struct Carrier {
  std::int32_t process = 0;  // 0: there is none
  std::int32_t file = -1;
};

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual Rank self() const noexcept = 0;
  virtual std::uint32_t ranks() const noexcept = 0;

  // Where the ranks run. The same at every rank, as long as the job lasts.
  virtual const Hosts& hosts() const noexcept = 0;

  // Bytes that the ranks of this job know and nobody else does: connections between them prove that they
  // belong together by it. Constant; the same at every rank. Empty: the driver has none to give.
  virtual std::string_view secret() const noexcept { return {}; }

  // That of this rank.
  virtual Carrier carrier() const noexcept { return {}; }

  // Collective: every rank gives a blob of at most blob_bytes_max and receives all of them, by rank; the n-th
  // call of one rank meets the n-th of every other. Blocks until all have called. One thread of a rank at a
  // time; not in a signal handler. Errors: the blob is too large (then the call does not count), the job
  // cannot go on. If a rank ends before it calls, the job ends, and the call does not return.
  virtual Result<std::vector<std::string>> all_gather(std::string_view blob) = 0;

  // Where this rank's threads say what they wait for, for the launcher to read; null when nobody reads.
  virtual trace::WaitBoard* wait_board() noexcept { return nullptr; }

  // Where they record events, for the launcher to write; an empty one when there is no trace.
  virtual trace::EventLog event_log() noexcept { return {}; }

  // For a rank that dies by a signal: another process tells the user the cause, and then the frames
  // (addresses of instructions, the innermost first) by their names. tell_frames waits some seconds at most.
  // Its result: whether cause and frames have been told. Signal-safe.
  virtual bool tells_crashes() const noexcept { return false; }
  virtual void tell_crash(std::string_view /*cause*/) noexcept {}
  virtual bool tell_frames(std::span<const std::uintptr_t> /*frames*/) noexcept { return false; }

  // Says that this rank is about to end the job with `status` in an orderly way (exit of the program). From
  // now on the end of any rank is no failure. This rank ends then, and so do the others, wherever they are.
  // The first rank to finish gives the status. Signal-safe, any thread.
  virtual void finish(int status) noexcept = 0;

  // Ends the whole job at once, as a failure: one line with `reason`, the exit status `status`, or 1 when
  // that is 0. Does not return. Signal-safe, any thread.
  [[noreturn]] virtual void abort(int status, std::string_view reason) noexcept = 0;
};

}  // namespace musubi::bootstrap
