// Whether the ranks of a job were given the same settings.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace musubi::runtime {

// The collective settings, as one rank tells them to the others.
std::string collective_settings(const config::Settings& settings);

// Result: empty when all ranks have the same, or one line for the user: which setting, and what to do.
std::string settings_difference(const std::vector<std::string>& by_rank);

}  // namespace musubi::runtime
