// Two ranks of this process that open a network together.
#pragma once

#include <barrier>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/ids.h"
#include "fabric/exchange.h"

namespace musubi::bench {

// Calls open(rank, exchange) for both ranks, on an extra thread for the second. Blocks until both have
// returned.
inline void open_two_ranks(const std::function<void(Rank, const fabric::Exchange&)>& open) {
  std::barrier meeting(2);
  std::vector<std::string> blobs(2);
  const auto open_one = [&](std::uint32_t rank) {
    open(Rank{rank}, [&, rank](std::string_view blob) -> Result<std::vector<std::string>> {
      blobs[rank] = blob;
      meeting.arrive_and_wait();
      auto all = blobs;
      meeting.arrive_and_wait();
      return all;
    });
  };
  std::thread other([&] { open_one(1); });
  open_one(0);
  other.join();
}

}  // namespace musubi::bench
