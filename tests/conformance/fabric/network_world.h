// A world of the suites whose ranks communicate by a driver for networks.
#pragma once

#include <vector>

#include "exchange_board.h"
#include "network_ranks.h"
#include "service_threads.h"

namespace musubi::fabric::conformance {

template <typename OneRank>
class NetworkWorld final : public ServedWorld {
 public:
  // `open`(one, rank, exchange) opens each of them; it returns a Result.
  template <typename Open>
  NetworkWorld(std::uint32_t ranks, Open open) : ServedWorld(ranks), board_(ranks), ranks_(ranks) {
    open_all(ranks, [&](Rank rank) { return open(ranks_[rank.value], rank, board_.of(rank)); });
  }

  Fabric& fabric(Rank rank) override { return *ranks_[rank.value].fabric; }
  std::byte* memory(Rank rank) override { return ranks_[rank.value].memory.data(); }

 private:
  ExchangeBoard board_;
  std::vector<OneRank> ranks_;
};

}  // namespace musubi::fabric::conformance
