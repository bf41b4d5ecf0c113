// Barrier of all ranks with a payload from rank 0: signatures travel in ceil(log2 P) rounds (dissemination
// barrier, Hensgen, Finkel and Manber 1988), so that at the end everybody has acquired everybody's writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/task.h"
#include "coherence/protocol.h"
#include "fabric/fabric.h"
#include "trace/counters.h"

namespace musubi::sync {

class Barrier final : public fabric::Listener {
 public:
  using Payload = std::array<std::uint64_t, 6>;

  // `board` is board_bytes() of the rank's control region, at `board_offset` there.
  Barrier(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters, std::byte* board,
          std::uint64_t board_offset, std::size_t notices_max);
  ~Barrier();
  static std::size_t board_bytes(std::uint32_t ranks, std::size_t notices_max);

  // One task per rank at a time. Releases, waits for everybody, acquires; then `payload` is rank 0's.
  // `quiescent`: no thread of this rank touches shared memory meanwhile (see Protocol::release).
  // `complete`: all threads of this rank that may release or acquire wait for this barrier to end.
  Task<> arrive(Payload& payload, bool quiescent, bool complete);

  void on_message(Rank from, std::span<const std::byte> body) noexcept override;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace musubi::sync
