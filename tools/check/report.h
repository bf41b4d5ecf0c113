// The findings about a program as text for people, or as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "check/findings.h"

namespace musubi::tools::check {

std::string as_text(const Facts& facts, const std::vector<Finding>& findings);
// One object: accepted, program, findings, and the facts.
std::string as_json(const Facts& facts, const std::vector<Finding>& findings);

}  // namespace musubi::tools::check
