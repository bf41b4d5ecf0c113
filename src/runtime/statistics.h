// What `--stats` and `--set report_races` print at the end of a job.
#pragma once

#include <string>
#include <string_view>

#include "coherence/protocol.h"
#include "runtime/job_context.h"
#include "runtime/job_words.h"
#include "runtime/synchronization.h"

namespace musubi::runtime {

class Statistics {
 public:
  // `vm_driver`: its name.
  Statistics(JobContext& job, JobWords& words, Synchronization& synchronization,
             coherence::Protocol& protocol, std::string_view vm_driver)
      : job_(job),
        words_(words),
        synchronization_(synchronization),
        protocol_(protocol),
        vm_driver_(vm_driver) {}

  // Prints what the settings ask for: each rank its races, rank 0 the rest. Collective.
  void report();

 private:
  std::uint64_t counter_of(Rank rank, std::size_t counter) {
    return words_.load(rank, JobWords::first_counter + counter);
  }
  void print_races();
  void name_races();
  std::string place_name(std::uintptr_t address) const;
  void print_counters();
  std::string shortage_line();

  JobContext& job_;
  JobWords& words_;
  Synchronization& synchronization_;
  coherence::Protocol& protocol_;
  const std::string_view vm_driver_;
};

}  // namespace musubi::runtime
