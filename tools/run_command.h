// `musubi run`: starts a program as a job of several ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"
#include "config/settings.h"

namespace musubi::tools {

// A wrong command line, a setting that is refused, a job that cannot be started.
inline constexpr int status_of_misuse = 2;
inline constexpr int status_of_failed_start = 125;

struct RunOptions {
  std::uint32_t ranks = 1;
  bool ranks_given = false;
  std::string hosts, host_file;  // both empty: this host
  std::string rsh;               // empty: ssh
  std::string remote_path;       // path of the command on all hosts; empty: the same as here
  std::string threads_per_rank;  // empty: as set
  std::string bind;              // empty: as set
  std::string trace;             // empty: as set
  std::string network_file;      // a file saved by doctor --hosts; empty: none
  bool stats = false;
  bool pthreads = false;
  bool label_output = false;
  bool encrypt = false;
  bool print_config = false;
  bool preload = false;
  bool plain = false;
  bool loads_itself = false;
  std::vector<std::string> assignments;  // arguments of --set
  std::vector<std::string> own_words;    // words of the command line before the program
  std::vector<std::string> command;      // the program and its arguments

  bool on_hosts() const { return !hosts.empty() || !host_file.empty(); }
};

// A program with all that its ranks need on this host.
struct PreparedProgram {
  std::string path;
  std::string library;  // to preload; empty: none
};

// Checks that must be made before any rank is started, so that they print one line instead of one per rank.
// `program`: the path of its file. Result: nothing if the job cannot start; the reason was printed, and
// `status` is the exit status.
std::optional<PreparedProgram> prepare(const std::string& program, const RunOptions& options,
                                       const config::Settings& settings, int& status);

// The environment of the ranks: the user's, every setting that is not at its default (in the form that the
// same parser reads back), and variables for the dynamic linker.
std::vector<std::string> environment_of_ranks(const config::Configuration& configuration,
                                              const std::string& library, bool loads_itself);

// Settings from the environment, the network file, --set and the other options, in this order. Errors: a
// setting or the file is refused.
Result<void> read_settings(const RunOptions& options, config::Configuration& configuration);

// The exit status for the shell: the job's, or one of those above.
int run(RunOptions options);

// `musubi settings`: lists the settings in force here, or prints the reference page.
int show_settings(bool markdown);

}  // namespace musubi::tools
