#include "runtime/job/job_words.h"

#include <atomic>

#include "base/check.h"
#include "coherence/regions.h"
#include "fabric/transfer.h"
#include "runtime/threads/thread_executor.h"

namespace musubi::runtime {
namespace {

// `word`: the operand of a put; afterwards the result of any other verb. It is in the frame, never in shared
// memory.
Task<std::uint64_t> carry_out(fabric::Fabric& fabric, Rank owner, fabric::Step step, std::uint64_t word) {
  step.local = &word;
  co_await fabric::transfer(fabric, owner, std::span{&step, 1});
  co_return word;
}

std::atomic_ref<std::uint64_t> atomic(std::uint64_t* word) {
  return std::atomic_ref<std::uint64_t>(*word);
}

}  // namespace

JobWords::JobWords(fabric::Fabric& fabric, trace::Counters& counters, std::uint64_t offset)
    : fabric_(fabric), counters_(counters), offset_(offset), words_(fabric.ranks()) {
  for (std::uint32_t rank = 0; rank < fabric.ranks(); ++rank) {
    const fabric::Capabilities capabilities = fabric.capabilities(Rank{rank});
    if (!capabilities.local_pointer || !capabilities.cpu_atomics_coherent) {
      all_within_reach_ = false;
      continue;
    }
    std::byte* const region = fabric.direct(Rank{rank}, coherence::control_region);
    MUSUBI_CHECK(region != nullptr);
    words_[rank] = reinterpret_cast<std::uint64_t*>(region + offset);
  }
}

std::uint64_t* JobWords::within_reach(Rank owner, std::size_t index) {
  MUSUBI_CHECK(index < word_count && owner.value < words_.size());
  std::uint64_t* const words = words_[owner.value];
  if (words == nullptr) return nullptr;
  if (owner != fabric_.self()) counters_.add(trace::Counter::remote_operations);
  return words + index;
}

std::uint64_t JobWords::operate(Rank owner, std::size_t index, fabric::Verb verb, std::uint64_t operand,
                                std::uint64_t compare) {
  const fabric::Step step{verb,    coherence::control_region, offset_ + index * sizeof(std::uint64_t),
                          nullptr, sizeof(std::uint64_t),     operand,
                          compare};
  const DeferredHandlers handlers;
  return ThreadExecutor::of_this_thread(fabric_, counters_).run(carry_out(fabric_, owner, step, operand));
}

std::uint64_t JobWords::load(Rank owner, std::size_t index) {
  if (std::uint64_t* const word = within_reach(owner, index)) return atomic(word).load();
  return operate(owner, index, fabric::Verb::get);
}
void JobWords::store(Rank owner, std::size_t index, std::uint64_t value) {
  if (std::uint64_t* const word = within_reach(owner, index)) return atomic(word).store(value);
  operate(owner, index, fabric::Verb::put, value);
}
std::uint64_t JobWords::fetch_add(Rank owner, std::size_t index, std::uint64_t amount) {
  if (std::uint64_t* const word = within_reach(owner, index)) return atomic(word).fetch_add(amount);
  return operate(owner, index, fabric::Verb::fetch_add, amount);
}
std::uint64_t JobWords::compare_swap(Rank owner, std::size_t index, std::uint64_t expected,
                                     std::uint64_t desired) {
  if (std::uint64_t* const word = within_reach(owner, index)) {
    atomic(word).compare_exchange_strong(expected, desired);
    return expected;
  }
  return operate(owner, index, fabric::Verb::compare_swap, desired, expected);
}

void JobWords::let_code_run(std::size_t index) {
  const std::uint64_t bit = std::uint64_t{1} << index % 64;
  const std::size_t word = first_of_code + index / 64;
  std::uint64_t known = load(Rank{0}, word);
  while ((known & bit) == 0) {
    const std::uint64_t before = compare_swap(Rank{0}, word, known, known | bit);
    if (before == known) return;
    known = before;
  }
}

}  // namespace musubi::runtime
