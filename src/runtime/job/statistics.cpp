#include "runtime/job/statistics.h"

#include <cstdio>

namespace musubi::runtime {

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
  std::snprintf(
      line, sizeof line,
      "musubi: memory was short: of %lu MiB that were fetched, %lu MiB had been here before and were "
      "thrown out; raise memory_max, or use more ranks\n",
      static_cast<unsigned long>(fetched >> 20), static_cast<unsigned long>(again >> 20));
  return line;
}

}  // namespace musubi::runtime
