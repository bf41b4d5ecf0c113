// The report at the end of a job: data races, and the output of `--stats`.
#pragma once

#include <string>
#include <string_view>

#include "runtime/api/synchronization.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_words.h"
#include "runtime/job/race_report.h"

namespace musubi::runtime {

class Statistics {
 public:
  // `vm_driver`: its name.
  Statistics(JobContext& job, JobWords& words, Synchronization& synchronization,
             const coherence::RaceLog& races, std::string_view vm_driver)
      : job_(job),
        words_(words),
        synchronization_(synchronization),
        races_(job, words, races),
        vm_driver_(vm_driver) {}

  // Whether report() prints anything; the same on every rank.
  bool reports() const noexcept;
  // Prints a note on the program's data races, and the reports that settings ask for: each rank the places of
  // its races, rank 0 the rest. Collective.
  void report();

 private:
  std::uint64_t counter_of(Rank rank, std::size_t counter) {
    return words_.load(rank, JobWords::first_counter + counter);
  }
  bool is_asked() const noexcept;
  std::uint64_t sum(trace::Counter counter);
  void print();
  void print_counters();
  std::string shortage_line();

  JobContext& job_;
  JobWords& words_;
  Synchronization& synchronization_;
  RaceReport races_;
  const std::string_view vm_driver_;
};

}  // namespace musubi::runtime
