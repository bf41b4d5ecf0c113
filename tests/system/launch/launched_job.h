// Runs the real `musubi` command for a test and watches its processes.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace musubi::test {

class LaunchedJob {
 public:
  struct Options {
    std::vector<std::string> arguments;         // arguments of musubi, from `run` on
    std::vector<std::string> before = {};       // another launcher, and its options, which starts musubi
    std::vector<std::string> environment = {};  // added
    bool keep_reading = true;                   // false: stdout is not read until read_on()
    bool close_output = false;                  // the reader of stdout goes away at once
  };
  explicit LaunchedJob(Options options);
  explicit LaunchedJob(std::vector<std::string> arguments);
  // Kills all remaining processes of the job.
  ~LaunchedJob();

  pid_t launcher() const { return launcher_; }
  void send(int signal) const;
  void type(const std::string& text);  // to stdin, which is then closed
  void read_on();

  // Waits for the launcher's end. Result: exit status, or 1000 + signal; -1 when it has not ended in 30 s.
  int wait();
  std::string output() const;
  std::string error() const;

  // Processes that carry this job's mark in their environment, except the launcher.
  std::vector<pid_t> processes() const;
  // Whether none is left, with some seconds' patience.
  bool vanished() const;

 private:
  void read_into(int descriptor, std::string& text);

  std::string mark_;
  pid_t launcher_ = -1;
  bool waited_ = false;
  int input_ = -1, output_pipe_ = -1;
  mutable std::mutex mutex_;
  std::string output_, error_;
  std::thread output_reader_, error_reader_;
};

// Tests repeatedly until the condition holds; false after `seconds`.
bool eventually(const std::function<bool()>& condition, int seconds = 20);

// rank_program prints on rank 0 that it is ready, once all ranks have joined. Fails the test when it does
// not.
void wait_until_ready(LaunchedJob& job);

std::size_t count_of(const std::string& text, const std::string& part);
std::size_t lines_of(const std::string& text);

// `musubi run -n <ranks> --plain rank_program <act...>`
std::vector<std::string> run_ranks(int ranks, std::vector<std::string> act,
                                   std::vector<std::string> options = {});

}  // namespace musubi::test
