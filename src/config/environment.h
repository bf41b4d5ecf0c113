// The environment of this process. No other file reads it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"

namespace musubi::config {

// The variable by which a launcher invites a process into a job (bootstrap/local/invitation.h). Not a
// setting.
inline constexpr const char* job_variable = "MUSUBI_JOB";

// Options of the compiler's wrapper (compiler/wrapper), which a user may keep in the environment. No setting.
inline constexpr const char* compiler_variable = "MUSUBI_CC_OPTIONS";

std::optional<std::string> environment_variable(const char* name);

// Variables for the runtime that the program's own, unused OpenMP library must not read: the launcher hands
// them to the ranks with this before their name. They are no settings.
inline constexpr const char* handed_prefix = "MUSUBI_PROGRAM_";
// The variable as the user set it, handed or not.
std::optional<std::string> program_variable(const char* name);

// All variables, as `NAME=value`.
std::vector<std::string> environment_variables();

// Reads every MUSUBI_<NAME> of the environment into the configuration. A MUSUBI_ variable that names no
// setting is an error, so that a misspelt setting is never ignored.
Result<void> read_environment(Configuration& configuration);

}  // namespace musubi::config
