// The path of one batch through the simulated network.
#pragma once

#include <new>

#include "simulator/fabric/sim_fabric.h"

namespace musubi::fabric::sim {

// Events of a batch that are not pieces of a step.
inline constexpr std::uint64_t end_of_step = ~std::uint64_t{0};
inline constexpr std::uint64_t completed = end_of_step - 1;
inline constexpr std::uint64_t at_target = end_of_step - 2;  // waits for its turn there
inline constexpr std::uint64_t back = end_of_step - 3;       // its results wait for their turn at the source

inline bool is_atomic(Verb verb) {
  return verb == Verb::compare_swap || verb == Verb::fetch_add || verb == Verb::swap;
}

// Bytes that the steps carry to the target.
inline std::uint64_t bytes_out(std::span<const Step> steps) {
  std::uint64_t bytes = 0;
  for (const Step& step : steps) {
    bytes += step.verb == Verb::put ? step.bytes : step.verb == Verb::call ? step.operand : 0;
  }
  return bytes;
}

// A batch under way. Its events: it reaches the target, pieces of the current step take effect (argument:
// begin and end in bytes), the step ends, its results are back, the completion arrives.
struct SimFabric::Operation final : Occurrence {
  Operation(SimFabric& source_, SimFabric& target_, std::span<const Step> steps_, Event* completion_)
      : Occurrence(source_.self_.value << 4 | 2),
        source(source_),
        target(target_),
        steps(steps_),
        completion(completion_) {}

  static Operation* create(SimFabric& source, SimFabric& target, std::span<const Step> steps,
                           Event* completion) {
    return new (frame_allocate(sizeof(Operation))) Operation(source, target, steps, completion);
  }

  void occur(std::uint64_t argument) noexcept override;
  void begin_step() noexcept;
  void go_back() noexcept;
  void complete() noexcept;
  void land(const Step& step, std::size_t begin, std::size_t end) noexcept;
  void carry_out(const Step& step) noexcept;
  void modify(const Step& step, std::byte* remote) noexcept;
  bool leaves_out(const Step& step) const noexcept {
    return step.after != no_verdict && step.after != verdict;
  }
  void run_at_once() noexcept {
    for (const Step& step : steps) {
      if (!leaves_out(step)) land(step, 0, step.bytes);
    }
  }

  SimFabric& source;
  SimFabric& target;
  std::span<const Step> steps;
  Event* completion;
  std::size_t present = 0;
  unsigned pieces = 0;           // of the current step, without effect yet
  Verdict verdict = no_verdict;  // of the last call
  std::uint64_t bytes_back = 0;  // of results
};

}  // namespace musubi::fabric::sim
