// Unprotected segments, by accesses as a compiler makes them: blocks of BLOCK_BYTES that the states alone
// open and close. Each case ends with the counts of faults and of changes of protection.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/system/runtime/cases.h"
#include "tests/system/runtime/checked_accesses.h"

#ifndef WHY_NOT
NOTE(MUSUBI_CHECKS_ABI, GRANULE, 3);
#else
NOTE_OF(MUSUBI_CHECKS_ABI, GRANULE, MODE, 0, WHY_NOT);
#endif

using namespace musubi;
using namespace musubi::test;
using trace::Counter;

namespace {

constexpr std::size_t bytes = 64 * 1024, words = bytes / sizeof(std::uint64_t);
std::size_t block_bytes = 64;

runtime::SegmentRequest request_of(vm::InitialHome placement) {
  runtime::SegmentRequest request{bytes, block_bytes, placement};
  request.unprotected = true;
  request.policy = coherence::Policy::home_based;
  return request;
}
std::uint64_t* add(const runtime::SegmentRequest& request) {
  auto added = job->segments().add(request);
  if (!added) job->ending().abort(1, added.error().message);
  return reinterpret_cast<std::uint64_t*>(added.value()->base);
}
std::uint64_t* add(vm::InitialHome placement = vm::InitialHome::cyclic) {
  return add(request_of(placement));
}
std::uint64_t pages_used() {
  return job->counters().get(Counter::fault_signals) + job->counters().get(Counter::protection_changes);
}

// Each rank writes every n-th word: the words of one block belong to several ranks.
void neighbours() {
  std::uint64_t* const memory = add();
  const std::uint32_t ranks = job->ranks(), self = job->self().value;
  for (std::uint64_t turn = 1; turn <= 6; ++turn) {
    for (std::size_t i = (self + turn) % ranks; i < words; i += ranks) write(memory + i, turn * 1000003 + i);
    meet();
    for (std::size_t i = 0; i < words; ++i) expect("a word", read(memory + i), turn * 1000003 + i);
    meet();
  }
}

// Ranges, of whole blocks and of parts.
void ranges() {
  std::uint64_t* const memory = add(vm::InitialHome::slices);
  for (std::uint64_t turn = 1; turn <= 6; ++turn) {
    if (job->self().value == turn % job->ranks()) {
      turn % 2 != 0 ? call<MUSUBI_CHECKS_ENTRY_OVERWRITE>(memory + 3, 8 * (words - 5))
                    : call<MUSUBI_CHECKS_ENTRY_WRITE_RANGE>(memory + 3, 8 * (words - 5));
      for (std::size_t i = 3; i < words - 2; ++i) memory[i] = turn + i;
      call<MUSUBI_CHECKS_ENTRY_WRITTEN>(memory + 3, 8 * (words - 5));
    }
    meet();
    call<MUSUBI_CHECKS_ENTRY_READ_RANGE>(memory, bytes);
    for (std::size_t i = 3; i < words - 2; ++i) expect("a word", memory[i], turn + i);
    expect("the first word", memory[0], 0);
    expect("the last word", memory[words - 1], 0);
    meet();
  }
}

// Values of which some look as if nothing had been stored, in whole or in half.
std::uint64_t scattered_value(std::uint64_t turn, std::size_t i) {
  constexpr std::uint64_t low = MUSUBI_CHECKS_UNWRITTEN, high = low << 32;
  const std::uint64_t value = turn * 1000003 + i;
  if (turn % 2 == 1) return value;
  return i % 3 == 0 ? value << 32 | low : i % 3 == 1 ? high | value : high | low;
}

// Each rank stores to words all over the memory, and reads those of which it is the home: no block is
// fetched.
void scatter() {
  auto request = request_of(vm::InitialHome::slices);
  request.home_only = true;
  std::uint64_t* const memory = add(request);
  const std::uint32_t ranks = job->ranks(), self = job->self().value;
  const std::size_t slice = (bytes / block_bytes + ranks - 1) / ranks * block_bytes / sizeof(std::uint64_t);
  constexpr std::uint64_t turns = 6;
  for (std::uint64_t turn = 1; turn <= turns; ++turn) {
    const std::uint64_t fetches = job->counters().get(Counter::fetches);
    for (std::size_t i = (self + turn) % ranks; i < words; i += ranks) {
      const std::size_t target = i * 4099 % words;
      store(memory + target, scattered_value(turn, target));
    }
    if (turn % 2 == 1) expect("blocks fetched for stores", job->counters().get(Counter::fetches), fetches);
    if (job->counters().get(Counter::blocks_for_stores) == 0) expect("blocks opened for stores", 0, 1);
    meet();
    const std::size_t begin = turn == turns ? 0 : std::min(words, self * slice);
    const std::size_t end = turn == turns ? words : std::min(words, begin + slice);
    for (std::size_t i = begin; i < end; ++i) expect("a word", read(memory + i), scattered_value(turn, i));
    meet();
  }
}

// The changes of many blocks go to their home in few batches.
void packets() {
  std::uint64_t* const memory = add(vm::InitialHome::one_rank);
  const std::size_t step = block_bytes / sizeof(std::uint64_t), blocks = bytes / block_bytes;
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    if (job->self().value == 1) {
      for (std::size_t i = 0; i < words; i += step / 2) write(memory + i, turn + i);
      const std::uint64_t operations = job->counters().get(Counter::remote_operations);
      job->synchronization().release_range(memory, bytes);
      if (job->counters().get(Counter::remote_operations) > operations + blocks / 32 + 1)
        expect("batches of a release", job->counters().get(Counter::remote_operations), operations);
    }
    meet();
    for (std::size_t i = 0; i < words; i += step / 2) expect("a word", read(memory + i), turn + i);
    meet();
  }
}

// A rank that has become the home of what it writes sends nothing for it, and the others send their changes
// there.
void homes() {
  std::uint64_t* const memory = add();
  const std::uint32_t ranks = job->ranks(), self = job->self().value;
  for (std::uint64_t turn = 1; turn <= 6; ++turn) {
    const std::uint32_t home = static_cast<std::uint32_t>(turn) % ranks;
    if (!job->segments().set_home(memory, bytes, Rank{home})) expect("an error", 1, 0);
    const std::uint64_t operations = job->counters().get(Counter::remote_operations);
    if (self == home) {
      for (std::size_t i = 0; i < words; ++i) write(memory + i, turn + i);
      job->synchronization().release_range(memory, bytes);
      expect("remote operations of a home", job->counters().get(Counter::remote_operations), operations);
    }
    meet();
    for (std::size_t i = self; i < words; i += ranks) write(memory + i, read(memory + i) * 2);
    meet();
    for (std::size_t i = 0; i < words; ++i) expect("a word", read(memory + i), 2 * (turn + i));
    meet();
  }
}

constexpr std::size_t counters = 24;
constexpr std::uint64_t additions = 200;

// Adds under a lock for each counter, all of which lie next to each other.
void add_under_locks(std::uint64_t* memory, std::uint64_t first, std::uint64_t step) {
  for (std::uint64_t i = 0; i < additions; ++i) {
    const std::uint64_t counter = (first + i * step) % counters;
    job->synchronization().lock(LockId{static_cast<std::uint32_t>(counter)});
    write(memory + counter, read(memory + counter) + 1);
    job->synchronization().unlock(LockId{static_cast<std::uint32_t>(counter)});
  }
}
void expect_sum(const std::uint64_t* memory, std::uint64_t expected) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < counters; ++i) sum += read(memory + i);
  expect("the sum of the counters", sum, expected);
  meet();
}

void locks() {
  std::uint64_t* const memory = add();
  meet();
  add_under_locks(memory, job->self().value, 7);
  meet();
  expect_sum(memory, additions * job->ranks());
}

// Threads that release and acquire for each other at any time, and come to no barrier. Each also writes words
// of its own in the same blocks, which it does not release itself until the end.
void threads() {
  constexpr std::uint64_t count = 3;
  std::uint64_t* const memory = add();
  const std::uint64_t all = count * job->ranks();
  std::vector<std::thread> working;
  for (std::uint64_t i = 0; i < count; ++i) {
    job->threads().add_outsider();
    working.emplace_back([=] {
      (void)job->threads().attach();
      const std::uint64_t number = job->self().value * count + i;
      for (std::uint64_t round = 1; round <= 20; ++round) {
        for (std::size_t word = counters + number; word < words / 8; word += all)
          write(memory + word, round * 100 + number);
        add_under_locks(memory, number, 5);
        for (std::size_t word = counters + number; word < words / 8; word += all)
          expect("a word of the thread", read(memory + word), round * 100 + number);
      }
      job->threads().detach();
      job->threads().remove_outsider();
    });
  }
  for (std::thread& thread : working) thread.join();
  meet();
  expect_sum(memory, 20 * additions * all);
  for (std::size_t word = counters; word < words / 8; ++word)
    expect("a word", read(memory + word), 2000 + (word - counters) % all);
  meet();
}

// Steps of two threads of a rank, in turn.
class Turns {
 public:
  void pass() { turn_.fetch_add(1); }
  void await(int turn) const {
    while (turn_.load() != turn) std::this_thread::yield();
  }

 private:
  std::atomic<int> turn_{0};
};

// Checks, and stores only when its rank has released and acquired several times.
void store_late(std::uint64_t* word, Turns& turns) {
  (void)job->threads().attach();
  for (std::uint64_t round = 1; round <= 10; ++round) {
    const int first = static_cast<int>(4 * (round - 1));
    turns.await(first);
    if (state(word) != 0) call<MUSUBI_CHECKS_ENTRY_WRITE>(word, 0);
    turns.pass();
    turns.await(first + 2);
    *static_cast<volatile std::uint64_t*>(word) = round;
    job->synchronization().lock(LockId{2});
    job->synchronization().unlock(LockId{2});
    turns.pass();
  }
  job->threads().detach();
}

// The words of all ranks are in one block, at home at rank 0 or at the last rank. Between the check and the
// store the rank of the late thread writes the block, and so do the others after it.
void late_stores() {
  for (const Rank home : {Rank{0}, Rank{job->ranks() - 1}}) {
    runtime::SegmentRequest request = request_of(vm::InitialHome::one_rank);
    request.home = home;
    auto added = job->segments().add(request);
    if (!added) job->ending().abort(1, added.error().message);
    auto* const memory = reinterpret_cast<std::uint64_t*>(added.value()->base);
    const bool is_first = job->self() == Rank{0};
    Turns turns;
    std::thread late;
    if (is_first) {
      job->threads().add_outsider();
      late = std::thread([&] { store_late(memory, turns); });
    }
    for (std::uint64_t round = 1; round <= 10; ++round) {
      const int first = static_cast<int>(4 * (round - 1));
      if (is_first) turns.await(first + 1);
      for (const bool is_turn : {is_first, !is_first}) {
        meet();
        for (int i = 0; i < 10 && is_turn; ++i) {
          job->synchronization().lock(LockId{1});
          write(memory + 1, read(memory + 1) + 1);
          job->synchronization().unlock(LockId{1});
        }
      }
      meet();
      (void)read(memory);
      meet();
      if (is_first) turns.pass();
      if (is_first) turns.await(first + 3);
      meet();
      expect("a word that was stored late", read(memory), round);
      expect("the count", read(memory + 1), round * 10 * job->ranks());
      meet();
      if (is_first) turns.pass();
    }
    if (is_first) {
      late.join();
      job->threads().remove_outsider();
    }
    meet();
  }
}

// The kernel stores and loads; no check of the program's comes before.
void system_calls() {
  std::uint64_t* const memory = add();
  int pipe[2];
  if (::pipe(pipe) != 0) job->ending().abort(1, "no pipe");
  constexpr std::size_t some = 4096, part = some / sizeof(std::uint64_t);
  for (std::uint64_t turn = 1; turn <= 4; ++turn) {
    if (job->self().value == turn % job->ranks()) {
      std::vector<std::uint64_t> sent(part, turn);
      expect("bytes written", static_cast<std::uint64_t>(::write(pipe[1], sent.data(), some)), some);
      job->memory().touch(memory + 5, some, true);
      expect("bytes read", static_cast<std::uint64_t>(::read(pipe[0], memory + 5, some)), some);
    }
    meet();
    std::vector<std::uint64_t> received(part);
    job->memory().touch(memory + 5, some, false);
    expect("bytes written", static_cast<std::uint64_t>(::write(pipe[1], memory + 5, some)), some);
    expect("bytes read", static_cast<std::uint64_t>(::read(pipe[0], received.data(), some)), some);
    for (const std::uint64_t word : received) expect("a word", word, turn);
    meet();
  }
}

// The parent has opened all of it.
struct OpenParent final : runtime::Memory::CopySource {
  bool open(std::uintptr_t, std::size_t) noexcept override { return true; }
};

// A child is no rank: its checks do nothing, and it works on a copy.
void children() {
  std::uint64_t* const memory = add();
  if (job->self() == Rank{0}) {
    for (std::size_t i = 0; i < words; ++i) write(memory + i, i);
  }
  meet();
  call<MUSUBI_CHECKS_ENTRY_READ_RANGE>(memory, bytes);
  const pid_t child = ::fork();
  if (child == 0) {
    OpenParent parent;
    if (!job->memory().become_copy(parent)) ::_exit(1);
    for (std::size_t i = 0; i < words; ++i) {
      if (read(memory + i) != i) ::_exit(2);
      write(memory + i, 0);
    }
    job->memory().touch(memory, bytes, true);
    ::_exit(read(memory + 9) == 0 ? 7 : 3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  expect("status of the child", static_cast<std::uint64_t>(WEXITSTATUS(status)), 7);
  meet();
  for (std::size_t i = 0; i < words; ++i) expect("a word", read(memory + i), i);
}

template <void (*work)()>
void without_pages() {
  const std::uint64_t before = pages_used();
  work();
  expect("faults and changes of protection", pages_used() - before, 0);
}

// As many numbers of blocks as the pages that may be added.
void used_up() {
  const std::size_t left = job->segments().bytes_left();
  runtime::SegmentRequest request = request_of(vm::InitialHome::cyclic);
  request.bytes = left / 2;
  expect("granted", job->segments().add(request).ok(), false);
  locks();
}

// A message of add(), for the test to compare.
void refused(const runtime::SegmentRequest& request) {
  auto added = job->segments().add(request);
  job->ending().abort(1, added ? "granted" : added.error().message);
}
void refused() {
  refused(request_of(vm::InitialHome::cyclic));
}
void other_policy() {
  runtime::SegmentRequest request = request_of(vm::InitialHome::cyclic);
  request.policy = coherence::Policy::migrating;
  refused(request);
}

}  // namespace

int main(int, char** arguments) {
  if (const char* const chosen = std::getenv("BLOCK_BYTES")) block_bytes = std::stoul(chosen);
  constexpr Case cases[] = {{"neighbours", without_pages<neighbours>},
                            {"ranges", without_pages<ranges>},
                            {"locks", without_pages<locks>},
                            {"threads", without_pages<threads>},
                            {"late_stores", without_pages<late_stores>},
                            {"scatter", without_pages<scatter>},
                            {"homes", without_pages<homes>},
                            {"packets", without_pages<packets>},
                            {"system_calls", without_pages<system_calls>},
                            {"children", without_pages<children>},
                            {"used_up", without_pages<used_up>},
                            {"refused", refused},
                            {"other_policy", other_policy}};
  return run_case(arguments, cases);
}
