// PORT bootstrap: how a process learns its place in the job, exchanges addresses at start, and ends the job.
// Driver: local (ranks started by `musubi run`). Conformance: tests/conformance/bootstrap.
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

// The largest blob of one rank.
inline constexpr std::size_t blob_bytes_max = 1 << 20;

// A process of this host that carries a rank's messages to other hosts, and its file that holds them.
struct Carrier {
  std::int32_t process = 0;  // 0: none
  std::int32_t file = -1;
};

class Bootstrap {
 public:
  virtual ~Bootstrap() = default;

  virtual Rank self() const noexcept = 0;
  virtual std::uint32_t ranks() const noexcept = 0;

  // Where the ranks run. Constant; the same at every rank.
  virtual const Hosts& hosts() const noexcept = 0;

  // Bytes that only the ranks of this job know, by which connections between them are authenticated.
  // Constant; the same at every rank. Empty: the driver provides none.
  virtual std::string_view secret() const noexcept { return {}; }

  // The carrier of this rank.
  virtual Carrier carrier() const noexcept { return {}; }

  // Collective: every rank passes a blob of at most blob_bytes_max and receives the blobs of all ranks, by
  // rank; the n-th call of each rank belongs to the same exchange. Blocks until all ranks have called. One
  // thread of a rank at a time; not in a signal handler. Errors: the blob is too large (the call then does
  // not count), or the job cannot go on. If a rank ends before it calls, the job ends and the call does not
  // return.
  virtual Result<std::vector<std::string>> all_gather(std::string_view blob) = 0;

  // Where this rank's threads record their waits, for the launcher to read; null if it does not read.
  virtual trace::WaitBoard* wait_board() noexcept { return nullptr; }

  // Where threads record events, for the launcher to write; empty if there is no trace.
  virtual trace::EventLog event_log() noexcept { return {}; }

  // For a rank that dies by a signal: another process reports the cause to the user, then the frames
  // (instruction addresses, innermost first) with their symbols. tell_frames blocks for some seconds at most.
  // Its result: whether cause and frames were reported. Signal-safe.
  virtual bool tells_crashes() const noexcept { return false; }
  virtual void tell_crash(std::string_view /*cause*/) noexcept {}
  virtual bool tell_frames(std::span<const std::uintptr_t> /*frames*/) noexcept { return false; }

  // Announces that this rank is about to end the job with `status` in an orderly way (exit of the program).
  // From then on the end of a rank is no failure: this rank ends, and so do all other ranks. The first rank
  // to finish determines the status. Signal-safe, any thread.
  virtual void finish(int status) noexcept = 0;

  // Ends the whole job at once, as a failure: prints one line with `reason`; the exit status is `status`, or
  // 1 if that is 0. Does not return. Signal-safe, any thread.
  [[noreturn]] virtual void abort(int status, std::string_view reason) noexcept = 0;
};

}  // namespace musubi::bootstrap
