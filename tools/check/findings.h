// Derives from the facts about a program their meaning for a job of several ranks. No I/O.
#pragma once

#include <string>
#include <vector>

#include "check/facts.h"

namespace musubi::tools::check {

enum class Verdict {
  exact,        // behaves as on one host
  best_effort,  // runs, and may differ in the named way
  refused,      // the job does not start
};

struct Finding {
  Verdict verdict;
  std::string subject;
  std::string meaning;
  std::string remedy;  // empty: there is nothing to do
};

// In the order in which people read them: the runtime first. At least one.
std::vector<Finding> findings_of(const Facts& facts);

// Whether `musubi run` would start a job of several ranks.
bool is_accepted(const std::vector<Finding>& findings);

}  // namespace musubi::tools::check
