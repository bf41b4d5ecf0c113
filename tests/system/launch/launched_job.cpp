#include "launched_job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace musubi::test {
namespace {

struct Pipe {
  int read_end, write_end;
};

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
  return {ends[0], ends[1]};
}

std::string next_mark() {
  static std::atomic<int> count{0};
  return "LAUNCH_TEST_MARK=" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

bool carries(const std::filesystem::path& process, const std::string& mark) {
  std::ifstream file(process / "environ");
  std::stringstream environment;
  environment << file.rdbuf();
  return environment.str().find(mark + '\0') != std::string::npos;
}

}  // namespace

bool eventually(const std::function<bool()>& condition, int seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

std::vector<std::string> run_ranks(int ranks, std::vector<std::string> act,
                                   std::vector<std::string> options) {
  std::vector<std::string> arguments = {"run", "-n", std::to_string(ranks), "--plain"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back(RANK_PROGRAM);
  arguments.insert(arguments.end(), act.begin(), act.end());
  return arguments;
}

LaunchedJob::LaunchedJob(std::vector<std::string> arguments)
    : LaunchedJob(Options{.arguments = std::move(arguments)}) {}

LaunchedJob::LaunchedJob(Options options) : mark_(next_mark()) {
  const Pipe input = make_pipe(), output = make_pipe(), error = make_pipe();
  std::vector<std::string> command = options.before;
  command.emplace_back(MUSUBI_COMMAND);
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  options.environment.push_back(mark_);
  std::vector<char*> arguments, environment;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
  for (std::string& variable : options.environment) environment.push_back(variable.data());
  environment.push_back(nullptr);
  launcher_ = ::fork();
  if (launcher_ == 0) {
    // A group of its own: in an orphaned process group, in which containers often start programs, SIGTSTP has
    // no effect.
    ::setpgid(0, 0);
    ::dup2(input.read_end, 0);
    ::dup2(output.write_end, 1);
    ::dup2(error.write_end, 2);
    ::execvpe(arguments[0], arguments.data(), environment.data());
    ::_exit(99);
  }
  for (const int descriptor : {input.read_end, output.write_end, error.write_end}) ::close(descriptor);
  input_ = input.write_end;
  output_pipe_ = output.read_end;
  error_reader_ = std::thread([this, end = error.read_end] { read_into(end, error_); });
  if (options.close_output)
    ::close(output_pipe_);
  else if (options.keep_reading)
    read_on();
}

LaunchedJob::~LaunchedJob() {
  if (input_ >= 0) ::close(input_);
  if (!waited_) {
    ::kill(launcher_, SIGKILL);
    ::waitpid(launcher_, nullptr, 0);
  }
  for (const pid_t process : processes()) ::kill(process, SIGKILL);
  if (output_reader_.joinable()) output_reader_.join();
  if (error_reader_.joinable()) error_reader_.join();
}

void LaunchedJob::send(int signal) const {
  ::kill(launcher_, signal);
}

void LaunchedJob::type(const std::string& text) {
  [[maybe_unused]] const ssize_t written = ::write(input_, text.data(), text.size());
  ::close(input_);
  input_ = -1;
}

void LaunchedJob::read_on() {
  output_reader_ = std::thread([this] { read_into(output_pipe_, output_); });
}

int LaunchedJob::wait() {
  int status = 0;
  const bool ended = eventually([&] { return ::waitpid(launcher_, &status, WNOHANG) == launcher_; }, 30);
  if (!ended) return -1;
  waited_ = true;
  eventually([this] { return processes().empty(); });
  if (output_reader_.joinable()) output_reader_.join();
  if (error_reader_.joinable()) error_reader_.join();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

std::string LaunchedJob::output() const {
  const std::lock_guard lock(mutex_);
  return output_;
}

std::string LaunchedJob::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

std::vector<pid_t> LaunchedJob::processes() const {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const pid_t process = std::atoi(entry.path().filename().c_str());
    if (process > 0 && process != launcher_ && carries(entry.path(), mark_)) found.push_back(process);
  }
  return found;
}

bool LaunchedJob::vanished() const {
  return eventually([this] { return processes().empty(); });
}

void LaunchedJob::read_into(int descriptor, std::string& text) {
  char buffer[65536];
  ssize_t bytes = 0;
  while ((bytes = ::read(descriptor, buffer, sizeof buffer)) > 0) {
    const std::lock_guard lock(mutex_);
    text.append(buffer, static_cast<std::size_t>(bytes));
  }
  ::close(descriptor);
}

void wait_until_ready(LaunchedJob& job) {
  ASSERT_TRUE(eventually([&] { return job.output().find("ready\n") != std::string::npos; })) << job.error();
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

std::size_t lines_of(const std::string& text) {
  return count_of(text, "\n");
}

}  // namespace musubi::test
