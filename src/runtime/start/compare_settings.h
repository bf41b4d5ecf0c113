// Whether the ranks of a job were given the same settings.
#pragma once

#include <string>
#include <vector>

#include "config/settings.h"

namespace musubi::runtime {

// The collective settings of one rank, as text.
std::string collective_settings(const config::Settings& settings);

// Result: empty if all ranks have the same, otherwise one line for the user with the setting and the remedy.
std::string settings_difference(const std::vector<std::string>& by_rank);

}  // namespace musubi::runtime
