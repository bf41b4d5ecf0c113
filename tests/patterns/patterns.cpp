// patterns <first seed> <seeds> [part of a name]: runs parallel regions that each write an array by one of
// many patterns, several in turn for each seed, and compares all bytes with the result of the same patterns
// in one thread. Prints a line when every seed came out right; otherwise names the pattern and the line that
// repeats it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "pattern.h"

#ifndef PATTERN_FLAGS
#define PATTERN_FLAGS ""
#endif

namespace patterns {

alignas(64) char symbol_arena[arena_bytes];
char* loaded_base;
int order[count_max];
volatile long zero;
const unsigned char* sources[4];

namespace {

constexpr int steps_max = 4, lines_max = 20;
enum Place { in_globals, in_local_statics, in_heap, on_stack, places };
const char* const place_names[] = {"globals", "local statics", "heap", "stack"};

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1du >> 16;
  }
  int below(int bound) { return static_cast<int>(next() % static_cast<unsigned>(bound)); }

 private:
  std::uint64_t state_;
};

struct Step {
  const Pattern* pattern;
  Call call;
};

// The places of the arenas, the patterns drawn, and how often each of them failed.
struct Run {
  char* arenas[places];
  char* expected;
  const char* program;
  std::vector<const Pattern*> anywhere, in_symbols;
  std::map<std::string, long> failures;
  long lines = 0;
};

// All random; mostly zero; few values; counting up, so that high bytes of words are equal.
void make_sources() {
  static unsigned char tables[4][source_records * record_bytes_max];
  Random random(1);
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < source_records * record_bytes_max; ++i) {
      const int byte = random.below(256);
      tables[t][i] = static_cast<unsigned char>(t == 0   ? byte
                                                : t == 1 ? (random.below(4) == 0 ? byte : 0)
                                                : t == 2 ? byte & 3
                                                         : (i % 4 == 0 ? i / 4 : 0));
    }
    sources[t] = tables[t];
  }
}

void shuffle_order(Random* random, long count) {
  for (long i = 0; i < count_max; ++i) order[i] = static_cast<int>(i);
  for (long i = count - 1; i > 0; --i) std::swap(order[i], order[random->below(static_cast<int>(i) + 1)]);
}

Step draw_step(Random* random, const Run& run, Place place) {
  const bool by_symbol =
      place == in_globals && !run.in_symbols.empty() && (run.anywhere.empty() || random->below(2) == 0);
  const auto& from = by_symbol ? run.in_symbols : run.anywhere;
  const Pattern* const pattern = from[static_cast<unsigned>(random->below(static_cast<int>(from.size())))];
  const int header = random->below(16) / pattern->alignment * pattern->alignment;
  Step step{pattern, {}};
  step.call.base = run.arenas[place] + (by_symbol ? pattern->header : header);
  const long limits[] = {12, 64, 200, count_max};
  step.call.count = 4 + random->below(static_cast<int>(limits[random->below(4)]) - 3);
  while (pattern->bytes(step.call.count) > arena_bytes - 16) --step.call.count;
  step.call.salt = static_cast<unsigned>(random->below(1 << 20));
  const int threads = random->below(8);
  step.call.threads = threads < 2 ? threads + 2 : omp_get_max_threads();
  step.call.chunk = 1 + random->below(8);
  return step;
}

void report(Run* run, std::uint64_t seed, Place place, const Step& step, int number, long wrong, long first) {
  ++run->failures[step.pattern->name];
  if (run->lines++ >= lines_max) return;
  const char* const arena = run->arenas[place];
  const long base = step.call.base - arena;
  std::printf(
      "seed %lu, step %d, %s in %s: %ld bytes wrong, first at %ld of %ld iterations from %ld on "
      "(address %p): %d instead of %d\n  again: %s %lu 1  # %s\n",
      static_cast<unsigned long>(seed), number, step.pattern->name.c_str(), place_names[place], wrong,
      first - base, step.call.count, base, static_cast<const void*>(arena + first), arena[first],
      run->expected[first], run->program, static_cast<unsigned long>(seed), PATTERN_FLAGS);
}

// By all threads: every rank must see the same.
long count_differences(const char* arena, const char* expected) {
  long wrong = 0;
#pragma omp parallel reduction(max : wrong)
  for (long i = 0; i < arena_bytes; ++i) wrong += arena[i] != expected[i];
  return wrong;
}

// Result: whether it is right.
bool run_seed(Run* run, std::uint64_t seed) {
  Random random(seed);
  const Place place = static_cast<Place>(run->anywhere.empty() ? in_globals : random.below(places));
  char* const arena = run->arenas[place];
  const int background = random.below(3);
  for (long i = 0; i < arena_bytes; ++i) arena[i] = static_cast<char>(background == 0 ? 0 : random.next());
  std::memcpy(run->expected, arena, arena_bytes);
  const int steps = 1 + random.below(steps_max);
  const bool all_look = random.below(2) == 0;
  for (int number = 0; number < steps; ++number) {
    const Step step = draw_step(&random, *run, place);
    const long base = step.call.base - arena, bytes = step.pattern->bytes(step.call.count);
    shuffle_order(&random, step.call.count);
    loaded_base = step.call.base;
    step.pattern->in_parallel(step.call);
    Call serial = step.call;
    serial.base = run->expected + base;
    step.pattern->serially(serial);
    for (long i = 0; i < bytes && step.pattern->is_padding != nullptr; ++i) {
      if (step.pattern->is_padding(i)) run->expected[base + i] = arena[base + i];
    }
    const long seen_by_all = all_look ? count_differences(arena, run->expected) : 0;
    long wrong = 0, first = 0;
    for (long i = arena_bytes - 1; i >= 0; --i) {
      if (arena[i] == run->expected[i]) continue;
      first = i;
      ++wrong;
    }
    if (wrong == 0 && seen_by_all == 0) continue;
    report(run, seed, place, step, number, std::max(wrong, seen_by_all), first);
    return false;
  }
  return true;
}

}  // namespace
}  // namespace patterns

int main(int argc, char** argv) {
  using namespace patterns;
  if (argc < 3 || argc > 4) {
    std::fputs("usage: patterns <first seed> <seeds> [part of a pattern's name]\n", stderr);
    return 2;
  }
  std::vector<Pattern> all;
  add_records(all);
  add_fields(all);
  add_arrays(all);
  add_marks(all);
  add_called(all);
  Run run;
  for (const Pattern& pattern : all) {
    if (argc == 4 && pattern.name.find(argv[3]) == std::string::npos) continue;
    (pattern.header < 0 ? run.anywhere : run.in_symbols).push_back(&pattern);
  }
  if (run.anywhere.empty() && run.in_symbols.empty()) {
    std::fprintf(stderr, "no pattern's name has %s\n", argv[3]);
    return 2;
  }
  alignas(64) static char in_statics[arena_bytes];
  alignas(64) char in_frame[arena_bytes];
  char* const heap = static_cast<char*>(std::aligned_alloc(64, arena_bytes));
  // Equal alignment, so that the same code writes both.
  run.expected = static_cast<char*>(std::aligned_alloc(64, arena_bytes));
  run.arenas[in_globals] = symbol_arena;
  run.arenas[in_local_statics] = in_statics;
  run.arenas[in_heap] = heap;
  run.arenas[on_stack] = in_frame;
  run.program = argv[0];
  make_sources();
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10),
                      seeds = std::strtoull(argv[2], nullptr, 10);
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) wrong += !run_seed(&run, seed);
  for (const auto& [name, count] : run.failures) std::printf("%5ld  %s\n", count, name.c_str());
  std::printf("%lu patterns, %lu seeds, %lu wrong\n", static_cast<unsigned long>(all.size()),
              static_cast<unsigned long>(seeds), static_cast<unsigned long>(wrong));
  if (wrong == 0) std::puts("OK");
  return wrong != 0;
}
