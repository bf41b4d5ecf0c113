// Derives from the facts about a machine their meaning for a job there. No I/O.
#pragma once

#include <string>
#include <vector>

#include "doctor/facts.h"

namespace musubi::tools::doctor {

enum class Severity {
  ok,
  warning,  // jobs run, but slower or with less room than possible
  problem,  // this job does not run
};

struct Finding {
  std::string subject;
  Severity severity;
  std::string fact;     // the observation
  std::string meaning;  // for a job of Musubi
  std::string remedy;   // the remedy, with the command; empty when ok
};

// One finding per subject, always the same subjects in the same order.
std::vector<Finding> examine(const Facts& facts, const Job& job);

// Whether a job can run: no finding is a problem.
bool job_can_run(const std::vector<Finding>& findings);

}  // namespace musubi::tools::doctor
