// Third-party launchers that start ranks by `musubi exec`.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "launched_job.h"

namespace musubi::test {

struct OtherLauncher {
  std::string name;
  std::vector<std::string> command;      // before the number of ranks
  std::vector<std::string> environment;  // needed by the launcher here
  std::string missing;                   // the reason why it is not available; empty: it is
};

inline std::string missing_command(const std::string& command, const std::string& package) {
  const std::string look = "command -v " + command + " >/dev/null";
  return std::system(look.c_str()) == 0 ? "" : "there is no " + command + " (package " + package + ")";
}

// The test's own, which leaves everything to Musubi.
inline OtherLauncher pmi_launcher() {
  return {"pmi_1", {PMI_LAUNCHER}, {}, ""};
}
inline OtherLauncher mpich() {
  return {"mpich", {"mpirun.mpich", "-n"}, {}, missing_command("mpirun.mpich", "mpich")};
}
inline OtherLauncher open_mpi() {
  return {"open_mpi",
          {"mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n"},
          {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"},
          missing_command("mpirun.openmpi", "openmpi-bin")};
}

// `<launcher> <ranks> musubi exec <options> rank_program <act...>`
inline LaunchedJob::Options exec_by(const OtherLauncher& launcher, int ranks,
                                    const std::vector<std::string>& act,
                                    const std::vector<std::string>& options = {"--plain", "--set",
                                                                               "abort_timeout=200ms"}) {
  LaunchedJob::Options job;
  job.before = launcher.command;
  job.before.push_back(std::to_string(ranks));
  job.environment = launcher.environment;
  job.arguments = {"exec"};
  job.arguments.insert(job.arguments.end(), options.begin(), options.end());
  job.arguments.emplace_back(RANK_PROGRAM);
  job.arguments.insert(job.arguments.end(), act.begin(), act.end());
  return job;
}

// Musubi's output; mpirun adds words of its own.
inline std::string own_lines(const std::string& text) {
  std::string own;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (text.compare(begin, 8, "musubi: ") == 0) own += text.substr(begin, end + 1 - begin);
  }
  return own;
}

}  // namespace musubi::test
