// The report at the end of a job: data races, and the output of `--stats`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "coherence/core/race_log.h"
#include "runtime/api/synchronization.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_words.h"

namespace musubi::runtime {

// Reports the data races that merges have found, at the end of the job: one line, or all places with `--set
// report_races=true`.
class RaceReport {
 public:
  RaceReport(const JobContext& job, JobWords& words, const coherence::RaceLog& races)
      : job_(job), words_(words), races_(races) {}

  // Each rank, before a barrier: rank 0 knows this rank's findings after it.
  void tell();
  // Rank 0, after it: prints the line, if any rank has found a race.
  void print_line();
  // For the full report: each rank prints the places that it found, rank 0 the sums of all ranks.
  void print_places();
  static void print_sums(std::uint64_t races, std::uint64_t words_kept_whole, std::uint64_t words_joined);

 private:
  std::string place_name(std::uintptr_t address) const;

  const JobContext& job_;
  JobWords& words_;
  const coherence::RaceLog& races_;
};

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
