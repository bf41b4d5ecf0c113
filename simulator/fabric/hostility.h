// The speed of the simulated network, and its misbehaviour within the contract of fabric.h.
#pragma once

#include <cstdint>

#include "fabric/fabric.h"

namespace musubi::fabric::sim {

// One way: latency_ns + jitter (uniform in [0, jitter_ns]); a step of n bytes takes step_ns + n *
// ns_per_256_bytes / 256.
//
// A node is busy for gap_ns with each batch or message that it sends or receives, one at a time; its link
// carries link_ns_per_256_bytes in each direction (the gaps of LogGP, Alexandrov, Ionescu, Schauser and
// Scheiman 1995), so a thousand readers of one home wait for each other. 0: no limit.
struct LatencyModel {
  std::uint64_t latency_ns = 1000;
  std::uint64_t jitter_ns = 0;
  std::uint64_t step_ns = 20;
  std::uint64_t ns_per_256_bytes = 10;
  std::uint64_t resume_ns = 30;  // from ready() to the task's next instruction
  std::uint64_t gap_ns = 0;
  std::uint64_t link_ns_per_256_bytes = 0;
  bool local_pointer = false;  // near peers also access each other's memory directly, without delay
  // Consecutive ranks share a host and are near, at a sixteenth of the latency; all other ranks are far. 0:
  // one host, with the full latency.
  std::uint32_t ranks_per_host = 0;
  static constexpr std::uint64_t near_divisor = 16;

  bool is_one_host(std::uint32_t a, std::uint32_t b) const {
    return ranks_per_host == 0 || a / ranks_per_host == b / ranks_per_host;
  }
  std::uint64_t latency_between(std::uint32_t a, std::uint32_t b) const {
    return ranks_per_host != 0 && is_one_host(a, b) ? latency_ns / near_divisor : latency_ns;
  }

  // As Capabilities::bandwidth_delay_bytes.
  std::uint32_t bandwidth_delay_bytes(std::uint32_t a, std::uint32_t b) const {
    if (a == b || (local_pointer && is_one_host(a, b))) return 0;
    constexpr std::uint64_t bits_and_ns = 256 * 8'000'000'000;
    return fabric::bandwidth_delay_bytes(
        {2 * latency_between(a, b), ns_per_256_bytes == 0 ? 0 : bits_and_ns / ns_per_256_bytes});
  }

  // Peers on one host: one or two cache misses, about 10 GB/s (measured: 80 ns one way for a message in a
  // mailbox, 25 GB/s for a copy without contention). gap: a contended word costs 50 to 90 ns per
  // compare-and-swap, measured.
  static constexpr LatencyModel shared_memory() { return {100, 20, 30, 25, 30, 60, 25}; }
  // InfiniBand HDR: 0.9 us one way, 25 GB/s. gap: a quarter of the 215 million messages per second that
  // vendors state for their best case of many small ones. Not measured.
  static constexpr LatencyModel infiniband() { return {900, 100, 20, 10, 30, 20, 10}; }
  // TCP over 25 GbE: 12 us one way through two kernels (measured: 20 us for a round trip to a sleeping
  // service thread, without a wire), 3 GB/s. gap: 2.3 million small gets per second by one service thread,
  // measured.
  static constexpr LatencyModel tcp_25_gbe() { return {12000, 3000, 300, 85, 200, 430, 85}; }
};

// Percentages unless named otherwise; all zero is a calm world (constant latency, never busy).
struct Hostility {
  unsigned torn = 0;  // long gets and puts that take effect in pieces
  unsigned late = 0;  // batches and messages that take up to late_factor times longer
  unsigned late_factor = 20;
  unsigned late_completion = 0;  // completions long after the last step took effect
  unsigned busy = 0;             // posts and sends refused
  unsigned at_once = 0;          // batches to peers that complete inside post()
  unsigned self_delayed = 0;     // batches to the own rank that take some time
  unsigned slow_nodes = 0;       // nodes that are up to slow_factor times slower
  unsigned slow_factor = 30;
  unsigned freeze_per_mille = 0;  // of a node's resumptions: the node freezes for up to freeze_ns
  std::uint64_t freeze_ns = 200000;
  unsigned operations_max = 0;  // batches under way per node before posts are busy; 0: no limit

  static constexpr Hostility calm() { return {}; }
};

}  // namespace musubi::fabric::sim
