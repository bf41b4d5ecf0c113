// Jobs of the programs in this folder.
#pragma once

#include <string>
#include <vector>

#include "../launch/launched_job.h"

namespace musubi::test {

struct Size {
  int ranks;
  int threads = 1;
  const char* vm_driver = "auto";
};

inline LaunchedJob::Options job_of(const Size& size, const std::string& program,
                                   const std::vector<std::string>& arguments = {}) {
  LaunchedJob::Options options{{"run", "-n", std::to_string(size.ranks), "-t", std::to_string(size.threads),
                                "--set", std::string("vm_driver=") + size.vm_driver,
                                PROGRAM_FOLDER + program}};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  options.environment = {"OMP_WAIT_POLICY=passive"};
  return options;
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace musubi::test
