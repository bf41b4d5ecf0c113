// Findings as text for people, or as JSON for programs.
#pragma once

#include "doctor/rules.h"

namespace musubi::tools::doctor {

std::string as_text(const std::vector<Finding>& findings, const Job& job);
// One object: can_run, job, findings, and the numbers among the facts.
std::string as_json(const std::vector<Finding>& findings, const Job& job, const Facts& facts);

}  // namespace musubi::tools::doctor
