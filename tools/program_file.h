// From the name that the user typed to the file to execute, and to the library that must be loaded with it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace musubi::tools {

inline constexpr int status_of_cannot_execute = 126;  // as shells have it
inline constexpr int status_of_not_found = 127;

struct ProgramError {
  std::string message;
  int exit_status;
};

// A path to an executable file, or the reason why there is none.
struct ProgramPath {
  std::string path;
  ProgramError error;  // when path is empty
};

// Looks it up as execvp does: names without a slash through PATH.
ProgramPath find_program(const std::string& name);

// A library of Musubi. Errors: it is not where this command's installation should have it.
Result<std::string> find_library(std::string_view name);
// The library preloaded into OpenMP programs. Errors: as above; its path cannot be preloaded.
Result<std::string> find_preloaded_library();

enum class Preload { automatic, always, never };

// The library to preload into the program, or empty when it needs none (it is linked with Musubi, or
// `never`). Errors: the first of the program's refusals (program_refusals.h); the library is not where this
// command's installation should have it.
Result<std::string> library_to_preload(const std::string& program, Preload preload);

}  // namespace musubi::tools
