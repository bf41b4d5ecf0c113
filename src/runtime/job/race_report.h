// Reports the data races that merges have found, at the end of the job: one line, or all places with `--set
// report_races=true`.
#pragma once

#include <cstdint>
#include <string>

#include "coherence/core/race_log.h"
#include "runtime/job/job_context.h"
#include "runtime/job/job_words.h"

namespace musubi::runtime {

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

}  // namespace musubi::runtime
