#include "runtime/job_words.h"

#include "base/check.h"
#include "coherence/regions.h"

namespace musubi::runtime {

std::atomic_ref<std::uint64_t> JobWords::word(Rank owner, std::size_t index) {
  MUSUBI_CHECK(index < word_count);
  if (owner != fabric_.self()) counters_.add(trace::Counter::remote_operations);
  std::byte* region = fabric_.direct(owner, coherence::control_region);
  return std::atomic_ref<std::uint64_t>(reinterpret_cast<std::uint64_t*>(region + offset_)[index]);
}

std::uint64_t JobWords::load(Rank owner, std::size_t index) {
  return word(owner, index).load();
}
void JobWords::store(Rank owner, std::size_t index, std::uint64_t value) {
  word(owner, index).store(value);
}
std::uint64_t JobWords::fetch_add(Rank owner, std::size_t index, std::uint64_t amount) {
  return word(owner, index).fetch_add(amount);
}
std::uint64_t JobWords::compare_swap(Rank owner, std::size_t index, std::uint64_t expected,
                                     std::uint64_t desired) {
  word(owner, index).compare_exchange_strong(expected, desired);
  return expected;
}

}  // namespace musubi::runtime
