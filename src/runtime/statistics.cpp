// What `--stats` prints: one row per counter that is not zero everywhere, one column per rank.
#include <cstdio>
#include <string>

#include "runtime/job_runtime.h"

namespace musubi::runtime {

// The counters travel in the words behind the team words: rank 0 reads them with one-sided loads.
void JobRuntime::report() {
  for (std::size_t i = 0; i < trace::counter_count; ++i) {
    word_store(self_, team_words + i, counters_.get(static_cast<trace::Counter>(i)));
  }
  BarrierPayload nothing{};
  barrier(nothing);
  if (self_ == Rank{0}) {
    if (settings_.report_races) print_races();
    if (settings_.stats) print_statistics();
  }
  barrier(nothing);
}

void JobRuntime::print_races() {
  std::uint64_t bytes = 0;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    bytes += word_load(Rank{rank}, team_words + static_cast<std::size_t>(trace::Counter::races));
  }
  std::fprintf(stderr, "musubi: %lu bytes were written by two ranks without an order between them\n",
               static_cast<unsigned long>(bytes));
}

void JobRuntime::print_statistics() {
  std::string text = "musubi: statistics by rank (the last column is the sum; vm_driver of rank 0: " +
                     std::string(vm_driver_) + ")\n";
  for (std::size_t i = 0; i < trace::counter_count; ++i) {
    std::uint64_t sum = 0;
    std::string row;
    char number[32];
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const std::uint64_t value = word_load(Rank{rank}, team_words + i);
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
  std::fputs(text.c_str(), stderr);
}

void JobRuntime::finish(int status) {
  if (settings_.stats || settings_.report_races) report();
  bootstrap_->finish(status);
}

// The launcher first: the others must not seem to have failed.
void JobRuntime::leave(int status) noexcept {
  bootstrap_->finish(status);
  departure_->announce();
}

void JobRuntime::abort(int status, std::string_view reason) {
  bootstrap_->abort(status, reason);
  __builtin_unreachable();
}

}  // namespace musubi::runtime
