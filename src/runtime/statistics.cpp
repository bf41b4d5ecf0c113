#include "runtime/statistics.h"

#include <cstdio>

#include "coherence/core/race_log.h"
#include "vm/signal/code_location.h"

namespace musubi::runtime {

// The counters travel in the words behind the team words: rank 0 reads them with one-sided loads.
void Statistics::report() {
  for (std::size_t i = 0; i < trace::counter_count; ++i) {
    words_.store(job_.self, JobWords::first_counter + i, job_.counters.get(static_cast<trace::Counter>(i)));
  }
  BarrierPayload nothing{};
  synchronization_.barrier(nothing);
  if (job_.settings.report_races) name_races();
  if (job_.self == Rank{0}) {
    if (job_.settings.report_races) print_races();
    if (job_.settings.stats) print_counters();
  }
  synchronization_.barrier(nothing);
}

void Statistics::print_races() {
  const auto sum = [this](trace::Counter counter) {
    std::uint64_t result = 0;
    for (std::uint32_t rank = 0; rank < job_.ranks; ++rank) {
      result += counter_of(Rank{rank}, static_cast<std::size_t>(counter));
    }
    return static_cast<unsigned long>(result);
  };
  std::fprintf(stderr, "musubi: %lu bytes were written by two ranks without an order between them\n",
               sum(trace::Counter::races));
  std::fprintf(
      stderr,
      "musubi: %lu words had different bytes changed by two ranks without an order between them, and one "
      "change was kept; %lu more were joined from both, which is right for chars and shorts (merge_unit)\n",
      sum(trace::Counter::words_kept_whole), sum(trace::Counter::words_joined));
}

// Each rank its own.
void Statistics::name_races() {
  const coherence::RaceLog* const races = protocol_.races();
  if (races == nullptr) return;
  std::string text;
  for (const coherence::RaceLog::Place& place : races->places()) {
    char line[160];
    std::snprintf(line, sizeof line,
                  "musubi: %lu times ranks %u and %u changed different bytes of the word at %#lx (",
                  static_cast<unsigned long>(place.times), place.other.value, job_.self.value,
                  static_cast<unsigned long>(place.address));
    text += line + place_name(place.address) +
            (place.kept_whole ? "): one change was kept\n" : "): joined from both\n");
  }
  std::fputs(text.c_str(), stderr);
}

// "counts+0x10", "heap of rank 0 + 0x1234", "stack 3 of rank 1".
std::string Statistics::place_name(std::uintptr_t address) const {
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

// One row per counter that is not zero everywhere, one column per rank.
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

// Where much of what is fetched was here before, memory is what the program waits for.
std::string Statistics::shortage_line() {
  constexpr std::uint64_t share_told = 4;
  std::uint64_t fetched = 0, again = 0;
  for (std::uint32_t rank = 0; rank < job_.ranks; ++rank) {
    fetched += counter_of(Rank{rank}, static_cast<std::size_t>(trace::Counter::fetched_bytes));
    again += counter_of(Rank{rank}, static_cast<std::size_t>(trace::Counter::refetched_bytes));
  }
  if (again == 0 || again < fetched / share_told) return {};
  char line[240];
  std::snprintf(
      line, sizeof line,
      "musubi: memory was short: of %lu MiB that were fetched, %lu MiB had been here before and were "
      "thrown out; raise memory_max, or use more ranks\n",
      static_cast<unsigned long>(fetched >> 20), static_cast<unsigned long>(again >> 20));
  return line;
}

}  // namespace musubi::runtime
