// The exchange of ranks at start, for tests: one shared page of memory, for threads and for forked processes
// alike.
#pragma once

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "fabric/exchange.h"
#include "os/clock.h"

namespace musubi::fabric::conformance {

// Constructed before the ranks are started.
class ExchangeBoard {
 public:
  explicit ExchangeBoard(std::uint32_t ranks) : ranks_(ranks) {
    auto memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUSUBI_CHECK(memory != MAP_FAILED);
    board_ = static_cast<Board*>(memory);
  }
  ExchangeBoard(const ExchangeBoard&) = delete;
  ExchangeBoard& operator=(const ExchangeBoard&) = delete;
  ~ExchangeBoard() { ::munmap(board_, sizeof(Board)); }

  // One per rank; the rank's all-gather, round after round.
  Exchange of(Rank self) {
    return [this, self, round = 0u](std::string_view blob) mutable { return gather(self, round++, blob); };
  }

 private:
  static constexpr unsigned rounds_max = 4, ranks_max = 8, blob_max = 1000;
  struct Board {
    std::atomic<std::uint32_t> arrived[rounds_max];
    std::uint32_t bytes[rounds_max][ranks_max];
    char blobs[rounds_max][ranks_max][blob_max];
  };

  Result<std::vector<std::string>> gather(Rank self, unsigned round, std::string_view blob) {
    MUSUBI_CHECK(round < rounds_max && self.value < ranks_max && blob.size() <= blob_max);
    std::copy(blob.begin(), blob.end(), board_->blobs[round][self.value]);
    board_->bytes[round][self.value] = static_cast<std::uint32_t>(blob.size());
    board_->arrived[round].fetch_add(1);
    const std::uint64_t patience_ends_ns = os::monotonic_ns() + 20'000'000'000u;
    while (board_->arrived[round].load() < ranks_) {
      if (os::monotonic_ns() > patience_ends_ns) return Error{"a peer did not come to the exchange"};
      ::sched_yield();
    }
    std::vector<std::string> blobs;
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      blobs.emplace_back(board_->blobs[round][rank], board_->bytes[round][rank]);
    }
    return blobs;
  }

  std::uint32_t ranks_;
  Board* board_;
};

}  // namespace musubi::fabric::conformance
