#include "runtime/job/statistics.h"

#include <algorithm>
#include <cstdio>

#include "vm/signal/crash_report.h"

namespace musubi::runtime {

// The first rank to report a race determines the place that is named.
void RaceReport::tell() {
  const std::uint64_t bytes = job_.counters.get(trace::Counter::races);
  if (bytes == 0) return;
  words_.fetch_add(Rank{0}, JobWords::race_bytes, bytes);
  if (races_.has_joined()) words_.store(Rank{0}, JobWords::race_has_joined, 1);
  const auto first = races_.first();
  if (!first || words_.compare_swap(Rank{0}, JobWords::race_address, 0, first->address) != 0) return;
  words_.store(Rank{0}, JobWords::race_ranks, std::uint64_t{first->other.value} << 32 | job_.self.value);
}

void RaceReport::print_line() {
  const std::uint64_t bytes = words_.load(Rank{0}, JobWords::race_bytes);
  if (bytes == 0) return;
  const std::uint64_t ranks = words_.load(Rank{0}, JobWords::race_ranks);
  const auto one = static_cast<std::uint32_t>(ranks), other = static_cast<std::uint32_t>(ranks >> 32);
  char text[96];
  std::snprintf(text, sizeof text, "%lu byte%s", static_cast<unsigned long>(bytes),
                bytes == 1 ? " was" : "s were");
  std::string line = "musubi: " + std::string(text) +
                     " changed by two ranks in different ways without an order between them, first at " +
                     place_name(words_.load(Rank{0}, JobWords::race_address));
  std::snprintf(text, sizeof text, ", by ranks %u and %u", std::min(one, other), std::max(one, other));
  line += text;
  line +=
      ": the program has a data race, and the values kept may differ from run to run; --set "
      "report_races=true names "
      "the places";
  if (words_.load(Rank{0}, JobWords::race_has_joined) != 0)
    line += ", --set merge_unit=4 (ints, floats) or 8 (doubles, longs) keeps words whole";
  std::fputs((line + "\n").c_str(), stderr);
}

void RaceReport::print_sums(std::uint64_t races, std::uint64_t words_kept_whole, std::uint64_t words_joined) {
  std::fprintf(stderr, "musubi: %lu bytes were written by two ranks without an order between them\n",
               static_cast<unsigned long>(races));
  std::fprintf(
      stderr,
      "musubi: %lu words had different bytes changed by two ranks without an order between them, and one "
      "change was kept; %lu more were joined from both, which is right for chars and shorts (merge_unit)\n",
      static_cast<unsigned long>(words_kept_whole), static_cast<unsigned long>(words_joined));
}

void RaceReport::print_places() {
  std::string text;
  for (const coherence::RaceLog::Place& place : races_.places()) {
    char line[160];
    std::snprintf(line, sizeof line, "musubi: %lu times ranks %u and %u changed the word at %#lx (",
                  static_cast<unsigned long>(place.times), place.other.value, job_.self.value,
                  static_cast<unsigned long>(place.address));
    text += line + place_name(place.address) +
            (place.kept_whole ? "): one change was kept\n" : "): joined from both\n");
  }
  std::fputs(text.c_str(), stderr);
}

// "counts+0x10", "heap of rank 0 + 0x1234", "stack 3 of rank 1".
std::string RaceReport::place_name(std::uintptr_t address) const {
  const vm::Segment& segment = *job_.plan.space.segment_at(address);
  const auto index = job_.plan.space.index_of(segment);
  const std::size_t offset = address - segment.base;
  char name[64];
  if (index == job_.plan.heap_segment) {
    std::snprintf(name, sizeof name, "heap of rank %zu + %#zx", offset / segment.slice_bytes,
                  offset % segment.slice_bytes);
    return name;
  }
  if (index == job_.plan.stacks_segment) {
    std::snprintf(name, sizeof name, "stack %zu of rank %zu",
                  offset % segment.slice_bytes / job_.plan.layout.stack_slot_bytes,
                  offset / segment.slice_bytes);
    return name;
  }
  vm::CrashText variable;
  vm::append_variable(variable, address);
  return std::string(variable.gathered());
}

bool Statistics::reports() const noexcept {
  return is_asked() || (job_.ranks > 1 && !job_.one_memory);
}

bool Statistics::is_asked() const noexcept {
  return job_.settings.stats || job_.settings.report_races;
}

// The counters are passed in the words after the team words: rank 0 reads them with one-sided loads, while
// the other ranks wait for it. No barrier here announces changes that a rank would have to fetch from one
// that has left.
void Statistics::report() {
  if (!reports()) return;
  races_.tell();
  for (std::size_t i = 0; is_asked() && i < trace::counter_count; ++i) {
    words_.store(job_.self, JobWords::first_counter + i, job_.counters.get(static_cast<trace::Counter>(i)));
  }
  synchronization_.last_barrier();
  if (job_.settings.report_races) races_.print_places();
  if (job_.self == Rank{0}) print();
  if (is_asked()) synchronization_.last_barrier();
}

void Statistics::print() {
  using trace::Counter;
  if (job_.settings.report_races) {
    RaceReport::print_sums(sum(Counter::races), sum(Counter::words_kept_whole), sum(Counter::words_joined));
  } else {
    races_.print_line();
  }
  if (job_.settings.stats) print_counters();
}

std::uint64_t Statistics::sum(trace::Counter counter) {
  std::uint64_t result = 0;
  for (std::uint32_t rank = 0; rank < job_.ranks; ++rank) {
    result += counter_of(Rank{rank}, static_cast<std::size_t>(counter));
  }
  return result;
}

// One row per counter that is not zero on all ranks, one column per rank.
void Statistics::print_counters() {
  std::string text = "musubi: statistics by rank (the last column is the sum; vm_driver of rank 0: " +
                     std::string(vm_driver_) + ")\n";
  for (std::size_t i = 0; i < trace::counter_count; ++i) {
    std::uint64_t sum = 0;
    std::string row;
    char number[32];
    for (std::uint32_t rank = 0; rank < job_.ranks; ++rank) {
      const std::uint64_t value = counter_of(Rank{rank}, i);
      sum += value;
      std::snprintf(number, sizeof number, " %14lu", static_cast<unsigned long>(value));
      row += number;
    }
    if (sum == 0) continue;
    std::snprintf(number, sizeof number, "  %-20s", trace::counter_texts[i].name);
    text += number + row;
    std::snprintf(number, sizeof number, " %14lu\n", static_cast<unsigned long>(sum));
    text += number;
  }
  std::fputs((text + shortage_line()).c_str(), stderr);
}

// If a large share of the fetched data was here before, the program waits because of too little memory.
std::string Statistics::shortage_line() {
  constexpr std::uint64_t share_told = 4;
  std::uint64_t fetched = 0, again = 0;
  for (std::uint32_t rank = 0; rank < job_.ranks; ++rank) {
    fetched += counter_of(Rank{rank}, static_cast<std::size_t>(trace::Counter::fetched_bytes));
    again += counter_of(Rank{rank}, static_cast<std::size_t>(trace::Counter::refetched_bytes));
  }
  if (again == 0 || again < fetched / share_told) return {};
  char line[240];
  std::snprintf(line, sizeof line,
                "musubi: memory was short: of %lu MiB that were fetched, %lu MiB had been here before and "
                "were evicted; raise memory_max, or use more ranks\n",
                static_cast<unsigned long>(fetched >> 20), static_cast<unsigned long>(again >> 20));
  return line;
}

}  // namespace musubi::runtime
