// The team words in the control region of each rank, and behind them the runtime's own: the counters on their
// way to rank 0, then what the ranks agree on.
#pragma once

#include <atomic>

#include "fabric/fabric.h"
#include "runtime/words.h"
#include "trace/counters.h"

namespace musubi::runtime {

class JobWords final : public Words {
 public:
  static constexpr std::size_t first_counter = Words::count;
  static constexpr std::size_t word_count = first_counter + trace::counter_count + 1;

  // The words of each rank lie at `offset` in its control region.
  JobWords(fabric::Fabric& fabric, trace::Counters& counters, std::uint64_t offset)
      : fabric_(fabric), counters_(counters), offset_(offset) {}

  std::uint64_t load(Rank owner, std::size_t index) override;
  void store(Rank owner, std::size_t index, std::uint64_t value) override;
  std::uint64_t fetch_add(Rank owner, std::size_t index, std::uint64_t amount) override;
  std::uint64_t compare_swap(Rank owner, std::size_t index, std::uint64_t expected,
                             std::uint64_t desired) override;

  // Whether code may run in segment `index` of the space. Any thread, also inside a fault.
  bool code_may_run(unsigned index) { return (code_segments().load() >> index & 1) != 0; }
  void let_code_run(unsigned index) { code_segments().fetch_or(std::uint64_t{1} << index); }

 private:
  static constexpr std::size_t word_of_code = word_count - 1;

  std::atomic_ref<std::uint64_t> word(Rank owner, std::size_t index);
  // Bits for the segments of the space, at rank 0.
  std::atomic_ref<std::uint64_t> code_segments() { return word(Rank{0}, word_of_code); }

  fabric::Fabric& fabric_;
  trace::Counters& counters_;
  const std::uint64_t offset_;
};

}  // namespace musubi::runtime
