// Checks as a compiler makes them, by hand (checked_accesses.h), with notes. GRANULE and CONTRACT are what
// the first note says.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "tests/system/runtime/cases.h"
#include "tests/system/runtime/checked_accesses.h"

NOTE(CONTRACT, GRANULE, 3);
NOTE(MUSUBI_CHECKS_ABI, 9, 3);

using namespace musubi;
using namespace musubi::test;
using trace::Counter;

namespace {

constexpr std::size_t block_bytes = 4096, blocks = 512, block_words = block_bytes / sizeof(std::uint64_t);

std::uint64_t signals() {
  return job->counters().get(Counter::fault_signals);
}
std::uint64_t* add() {
  runtime::SegmentRequest request{blocks * block_bytes, block_bytes, vm::InitialHome::one_rank};
  auto added = job->segments().add(request);
  if (!added) job->ending().abort(1, added.error().message);
  return reinterpret_cast<std::uint64_t*>(added.value()->base);
}

void fill_blocks(std::uint64_t* words, std::size_t count, std::uint64_t value) {
  for (std::size_t i = 0; i < count; ++i) words[i * block_words] = value;
}

// Ranks write in turn. The first touch of a segment finds no states; all other misses are found by checks.
void points() {
  std::uint64_t* const words = add();
  const std::uint64_t before = signals();
  for (std::uint64_t turn = 1; turn <= 8; ++turn) {
    if (job->self().value == turn % job->ranks()) {
      for (std::size_t i = 0; i < blocks; ++i) write(words + i * block_words + turn, turn * 1000 + i);
    }
    meet();
    for (std::size_t i = 0; i < blocks; i += 3)
      expect("a word", read(words + i * block_words + turn), turn * 1000 + i);
    meet();
  }
  if (signals() - before > 1) expect("signals", signals() - before, 1);
}

// Loops name their ranges.
void ranges() {
  std::uint64_t* const words = add();
  const std::size_t count = blocks * block_words;
  const std::uint64_t before = signals();
  for (std::uint64_t turn = 1; turn <= 6; ++turn) {
    if (job->self().value == turn % job->ranks()) {
      if (turn % 2 != 0) {
        call<MUSUBI_CHECKS_ENTRY_OVERWRITE>(words, 8 * count);
      } else {
        call<MUSUBI_CHECKS_ENTRY_WRITE_RANGE>(words, 8 * count);
      }
      for (std::size_t i = 0; i < count; ++i) words[i] = turn + i;
      call<MUSUBI_CHECKS_ENTRY_WRITTEN>(words, 8 * count);
    }
    meet();
    call<MUSUBI_CHECKS_ENTRY_READ_RANGE>(words + 100, 8 * (count - 200));
    for (std::size_t i = 100; i < count - 100; ++i) expect("a word", words[i], turn + i);
    meet();
  }
  expect("signals", signals() - before, 0);
}

// A range whose first blocks are open: the closed ones go as runs that begin with the first of them.
void open_in_part() {
  constexpr std::size_t run = 32, open = run + 8, count = open + 2 * run;
  std::uint64_t* const words = add();
  if (job->self() == Rank{0}) fill_blocks(words, count, 1);
  meet();
  if (job->self() == Rank{1}) {
    call<MUSUBI_CHECKS_ENTRY_READ_RANGE>(words, count * block_bytes);
    call<MUSUBI_CHECKS_ENTRY_WRITE_RANGE>(words, open * block_bytes);
    const std::uint64_t openings = job->counters().get(Counter::write_faults);
    call<MUSUBI_CHECKS_ENTRY_WRITE_RANGE>(words, count * block_bytes);
    fill_blocks(words, count, 2);
    expect("openings", job->counters().get(Counter::write_faults) - openings, 2);
  }
  meet();
}

// Private memory needs no check, and a child is no rank.
void elsewhere() {
  std::uint64_t local = 1;
  expect("state of the stack", state(&local), 0);
  expect("state of low addresses", state(nullptr), 0);
  call<MUSUBI_CHECKS_ENTRY_READ>(&local, 0);
  call<MUSUBI_CHECKS_ENTRY_OVERWRITE>(&local, sizeof local);
  call<MUSUBI_CHECKS_ENTRY_READ_RANGE>(nullptr, SIZE_MAX);
  call<MUSUBI_CHECKS_ENTRY_WRITE_RANGE>(&local, 0);
  std::uint64_t* const words = add();
  const pid_t child = ::fork();
  if (child == 0) {
    call<MUSUBI_CHECKS_ENTRY_WRITE_RANGE>(words, blocks * block_bytes);
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  expect("status of the child", static_cast<std::uint64_t>(WEXITSTATUS(status)), 7);
}

// Each rank has a word of its own, which stays open here until it synchronises.
std::uint64_t* own_word() {
  std::uint64_t* const words = add() + job->self().value * block_words;
  write(words, 1);
  meet();
  return words;
}
void unchecked_store() {
  volatile std::uint64_t* const word = own_word();
  *word = 2;
}
void unchecked_load() {
  volatile std::uint64_t* const word = own_word();
  expect("a word", *word, 1);
}
// Accesses after a check, over several synchronisations, also where no other rank takes the block.
void checked() {
  std::uint64_t* const word = own_word();
  for (std::uint64_t turn = 2; turn < 6; ++turn) {
    expect("state after a synchronisation", state(word),
           MUSUBI_CHECKS_NOT_READABLE | MUSUBI_CHECKS_NOT_WRITABLE | MUSUBI_CHECKS_NOT_STORABLE);
    expect("a word", read(word), turn - 1);
    write(word, turn);
    *const_cast<volatile std::uint64_t*>(word) = turn;
    meet();
  }
}
// States allow everything, and pages find the closed blocks.
void off() {
  std::uint64_t* const words = add();
  const std::uint64_t before = signals();
  for (std::uint64_t turn = 1; turn <= 2; ++turn) {
    if (job->self().value == turn % job->ranks()) write(words, turn);
    meet();
    expect("a word", read(words), turn);
    expect("state", state(words), 0);
    meet();
  }
  if (signals() == before) expect("signals", 0, 1);
}

}  // namespace

int main(int, char** arguments) {
  constexpr Case cases[] = {{"points", points},
                            {"ranges", ranges},
                            {"open_in_part", open_in_part},
                            {"elsewhere", elsewhere},
                            {"unchecked_store", unchecked_store},
                            {"unchecked_load", unchecked_load},
                            {"checked", checked},
                            {"off", off},
                            {"no_name", [] { call<MUSUBI_CHECKS_ENTRIES - 1>(nullptr, 0); }}};
  return run_case(arguments, cases);
}
