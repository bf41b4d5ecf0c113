// The team words in the control region of each rank, followed by the runtime's own words: counters on their
// way to rank 0, values that ranks agree on, and the races of all ranks, at rank 0. Processor atomics change
// the words of peers within reach; the fabric changes all other ones.
#pragma once

#include <vector>

#include "fabric/fabric.h"
#include "runtime/api/words.h"
#include "trace/counters.h"
#include "vm/space.h"

namespace musubi::runtime {

class JobWords final : public Words {
 public:
  static constexpr std::size_t first_counter = Words::count_with_lock_pieces;
  static constexpr std::size_t first_of_code = first_counter + trace::counter_count;
  static constexpr std::size_t race_bytes = first_of_code + vm::Space::segments_max / 64,
                               race_address = race_bytes + 1, race_ranks = race_address + 1,
                               race_has_joined = race_ranks + 1;
  static constexpr std::size_t split_atomics_lock = race_has_joined + 1;
  static constexpr std::size_t word_count = split_atomics_lock + 1;

  // Each rank's words are at `offset` in its control region.
  JobWords(fabric::Fabric& fabric, trace::Counters& counters, std::uint64_t offset);

  bool all_within_reach() const noexcept override { return all_within_reach_; }
  std::uint64_t load(Rank owner, std::size_t index) override;
  void store(Rank owner, std::size_t index, std::uint64_t value) override;
  std::uint64_t fetch_add(Rank owner, std::size_t index, std::uint64_t amount) override;
  std::uint64_t compare_swap(Rank owner, std::size_t index, std::uint64_t expected,
                             std::uint64_t desired) override;

  // Whether code may run in segment `index` of the space: bits at rank 0. Any thread, also inside a fault.
  bool code_may_run(std::size_t index) {
    return (load(Rank{0}, first_of_code + index / 64) >> index % 64 & 1) != 0;
  }
  void let_code_run(std::size_t index);

 private:
  // Null: the word is out of reach.
  std::uint64_t* within_reach(Rank owner, std::size_t index);
  // Executes `step` on the word through the fabric. Result: the old value, or for a put the new one. Blocks
  // politely.
  std::uint64_t operate(Rank owner, std::size_t index, fabric::Verb verb, std::uint64_t operand = 0,
                        std::uint64_t compare = 0);

  fabric::Fabric& fabric_;
  trace::Counters& counters_;
  const std::uint64_t offset_;
  // By rank; null: out of reach. Where processor atomics and the fabric's do not mix, the fabric does all
  // operations.
  std::vector<std::uint64_t*> words_;
  bool all_within_reach_ = true;
};

}  // namespace musubi::runtime
