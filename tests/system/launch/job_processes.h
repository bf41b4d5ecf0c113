// The processes of a job over several hosts, by their role.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "launched_job.h"

namespace musubi::test {

inline std::string command_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/cmdline", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  std::string words = text.str();
  for (char& letter : words) {
    if (letter == '\0') letter = ' ';
  }
  return words;
}

// As /proc shows it: 'R', 'S', 'T' ... 0: no such process.
inline char state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(") ");
  return name_end == std::string::npos ? '\0' : text[name_end + 2];
}

inline std::vector<pid_t> processes_with(const LaunchedJob& job, const std::string& words) {
  std::vector<pid_t> found;
  for (const pid_t process : job.processes()) {
    if (command_of(process).find(words) != std::string::npos) found.push_back(process);
  }
  return found;
}
inline std::vector<pid_t> proxies_of(const LaunchedJob& job) {
  return processes_with(job, "/musubi proxy ");
}
inline std::vector<pid_t> ranks_of_job(const LaunchedJob& job) {
  return processes_with(job, "launch_rank_program ");
}

}  // namespace musubi::test
