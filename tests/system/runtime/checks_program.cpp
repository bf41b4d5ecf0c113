// Accesses that the program announces before it makes them, on real pages: by counts of faults, of blocks
// that come and of bytes that move.
#include <cstdint>
#include <vector>

#include "tests/system/runtime/cases.h"

using namespace musubi;
using namespace musubi::test;
using trace::Counter;

namespace {

constexpr std::size_t block_bytes = 4096, blocks = 1024, block_words = block_bytes / sizeof(std::uint64_t);

void expect_at_most(const char* what, std::uint64_t found, std::uint64_t most) {
  if (found > most) expect(what, found, most);
}
std::uint64_t* add(coherence::Policy policy, vm::InitialHome placement = vm::InitialHome::one_rank) {
  runtime::SegmentRequest request{blocks * block_bytes, block_bytes, placement};
  request.policy = policy;
  auto added = job->segments().add(request);
  if (!added) job->ending().abort(1, added.error().message);
  return reinterpret_cast<std::uint64_t*>(added.value()->base);
}

// Counts of this rank since it was made.
class Since {
 public:
  std::uint64_t operator[](Counter counter) const { return read(counter) - before_[index(counter)]; }

 private:
  static std::size_t index(Counter counter) { return static_cast<std::size_t>(counter); }
  static std::uint64_t read(Counter counter) { return job->counters().get(counter); }
  static std::vector<std::uint64_t> all() {
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < trace::counter_count; ++i) values.push_back(read(static_cast<Counter>(i)));
    return values;
  }

  const std::vector<std::uint64_t> before_ = all();
};

std::uint64_t value(std::uint64_t turn, std::uint64_t word) {
  return turn * 1000003 + word;
}
void fill(std::uint64_t* words, std::uint64_t turn, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) words[i] = value(turn, i);
}
void compare(const std::uint64_t* words, std::uint64_t turn, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) expect("a word", words[i], value(turn, i));
}

// Blocks that the rank never had, far from each other: all come by one call, and none by a signal.
void scattered() {
  for (const auto wanted : {vm::Access::read, vm::Access::write}) {
    std::uint64_t* const words = add(coherence::Policy::migrating);
    if (job->self() == Rank{0}) fill(words, 1, 0, blocks * block_words);
    meet();
    if (job->self() == Rank{1}) {
      std::vector<AddressRange> ranges;
      for (std::size_t i = 0; i < blocks; i += 4)
        ranges.push_back({reinterpret_cast<std::uintptr_t>(words + i * block_words + 7), 64});
      const Since since;
      job->checks().open_all(ranges, wanted);
      for (std::size_t i = 0; i < blocks; i += 4) {
        expect("a word", words[i * block_words + 7], value(1, i * block_words + 7));
        if (wanted == vm::Access::write) words[i * block_words + 7] = i;
      }
      expect("signals", since[Counter::fault_signals], 0);
      expect("blocks that came", since[Counter::fetches], ranges.size());
      const auto faults = wanted == vm::Access::read ? Counter::read_faults : Counter::write_faults;
      expect("openings", since[faults], ranges.size());
    }
    meet();
    if (wanted == vm::Access::write) {
      for (std::size_t i = 0; i < blocks; i += 4) expect("a written word", words[i * block_words + 7], i);
    }
    meet();
  }
}

// Blocks side by side go as runs, and no more than those that were named come.
void consecutive() {
  constexpr std::size_t count = 128;
  std::uint64_t* const words = add(coherence::Policy::migrating);
  if (job->self() == Rank{0}) fill(words, 1, 0, blocks * block_words);
  meet();
  if (job->self() == Rank{1}) {
    const Since since;
    job->checks().open({reinterpret_cast<std::uintptr_t>(words + block_words), count * block_bytes},
                       vm::Access::read);
    compare(words, 1, block_words, (1 + count) * block_words);
    expect("signals", since[Counter::fault_signals], 0);
    expect("blocks that came", since[Counter::fetches], count);
    expect_at_most("system calls", since[Counter::protection_changes], count / 16);
  }
  meet();
}

// An array that another rank had and this one overwrites moves no bytes, neither then nor at the barrier; but
// for a block that the rank before releases at the very moment (the budget tests count exactly). Once ranks
// have read it, an acquire may bring them the new bytes ahead of their next reads.
void overwritten(coherence::Policy policy) {
  std::uint64_t* const words = add(policy);
  const std::size_t all = blocks * block_words;
  const std::uint64_t unread_turns = job->ranks() + 2;
  for (std::uint64_t turn = 1; turn <= 3 * unread_turns; ++turn) {
    const Since since;
    const bool is_unread = turn <= unread_turns;
    const bool writes = job->self().value == turn % job->ranks();
    if (writes) {
      job->checks().overwrite({reinterpret_cast<std::uintptr_t>(words), blocks * block_bytes});
      fill(words, turn, 0, all);
      expect("signals", since[Counter::fault_signals], 0);
      if (turn % 3 == 0) job->checks().written({reinterpret_cast<std::uintptr_t>(words), 8 * all});
    }
    meet();
    if (is_unread) expect_at_most("bytes that moved", since[Counter::fetched_bytes], 8 * all / 64);
    if (!is_unread && turn % 2 == 0) compare(words, turn, 0, all);
    meet();
  }
}

// A range that begins and ends inside of blocks: the words next to it stay.
void in_part(coherence::Policy policy) {
  std::uint64_t* const words = add(policy, vm::InitialHome::cyclic);
  constexpr std::size_t begin = 3 * block_words + 5, end = 40 * block_words + 11, last = 60 * block_words;
  if (job->self() == Rank{0}) fill(words, 1, 0, last);
  meet();
  for (std::uint64_t turn = 2; turn <= 6; ++turn) {
    if (job->self().value == turn % job->ranks()) {
      job->checks().overwrite({reinterpret_cast<std::uintptr_t>(words + begin), 8 * (end - begin)});
      fill(words, turn, begin, end);
    }
    meet();
    compare(words, 1, 0, begin);
    compare(words, turn, begin, end);
    compare(words, 1, end, last);
    meet();
  }
}

void each_policy() {
  for (const auto& [policy, name, c_name, use, kind] : coherence::policy_list) {
    if (policy != coherence::Policy::entry) overwritten(policy);
    in_part(policy);
  }
}

// Addresses that are not shared need no check.
void private_memory() {
  int local = 0;
  const AddressRange ranges[]{{reinterpret_cast<std::uintptr_t>(&local), sizeof local}, {0, 100}, {1, 0}};
  job->checks().open_all(ranges, vm::Access::write);
  job->checks().overwrite(ranges[0]);
  job->checks().written(ranges[0]);
}

}  // namespace

int main(int, char** arguments) {
  constexpr Case cases[] = {{"scattered", scattered},
                            {"consecutive", consecutive},
                            {"overwritten", each_policy},
                            {"private_memory", private_memory}};
  return run_case(arguments, cases);
}
