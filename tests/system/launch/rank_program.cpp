// A rank of the launch tests: acts as its arguments say. `rank_program <act> [numbers...]`.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "bootstrap/local/local_bootstrap.h"

namespace {

using musubi::bootstrap::LocalBootstrap;

std::unique_ptr<LocalBootstrap> job;
int arguments[3];
char** words;  // the act and its arguments

[[noreturn]] void wait_for_end() {
  while (true) ::pause();
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t written =
        ::write(descriptor, text.data() + at, std::min<std::size_t>(text.size() - at, 70001));
    if (written > 0) at += static_cast<std::size_t>(written);
  }
}

void gather_or_exit(const std::string& blob) {
  if (!job->all_gather(blob).ok()) std::exit(90);
}

std::string blob_of(unsigned rank, int round, int bytes) {
  return std::string(static_cast<std::size_t>(rank % 3 == 1 ? 0 : bytes + round),
                     static_cast<char>('a' + (rank + round) % 26));
}

// gather <rounds> <bytes>
int act_gather() {
  for (int round = 0; round < arguments[0]; ++round) {
    auto blobs = job->all_gather(blob_of(job->self().value, round, arguments[1]));
    if (!blobs.ok() || blobs.value().size() != job->ranks()) return 91;
    for (unsigned rank = 0; rank < job->ranks(); ++rank) {
      if (blobs.value()[rank] != blob_of(rank, round, arguments[1])) return 92;
    }
  }
  job->finish(0);
  return 0;
}

// finish <rank> <status>: one rank ends the program, the other ranks would wait for ever.
int act_finish() {
  gather_or_exit("");
  if (static_cast<int>(job->self().value) != arguments[0]) wait_for_end();
  job->finish(arguments[1]);
  return arguments[1];
}

// die <rank> <signal>, leave <rank> <status>, abort <rank> <status>: one rank fails, the other ranks wait.
int act_die() {
  gather_or_exit("");
  if (static_cast<int>(job->self().value) != arguments[0]) wait_for_end();
  ::signal(arguments[1], SIG_DFL);
  ::raise(arguments[1]);
  return 93;
}

int act_leave() {
  gather_or_exit("");
  if (static_cast<int>(job->self().value) != arguments[0]) wait_for_end();
  return arguments[1];
}

int act_abort() {
  gather_or_exit("");
  if (static_cast<int>(job->self().value) != arguments[0]) wait_for_end();
  job->abort(arguments[1], "block 17 is lost");
}

// stubborn: ignores SIGTERM; rank 1 dies.
int act_stubborn() {
  ::signal(SIGTERM, SIG_IGN);
  gather_or_exit("");
  if (job->self().value == 1) ::raise(SIGKILL);
  wait_for_end();
}

// lines <count> <bytes>: each line is one letter, many times.
int act_lines() {
  const std::string line(static_cast<std::size_t>(arguments[1]),
                         static_cast<char>('a' + job->self().value % 26));
  gather_or_exit("");
  for (int i = 0; i < arguments[0]; ++i) write_all(i % 2 == 0 ? STDOUT_FILENO : STDERR_FILENO, line + "\n");
  gather_or_exit("");
  job->finish(0);
  return 0;
}

// tail <bytes>: rank 1 dies right after printing, without a newline.
int act_tail() {
  gather_or_exit("");
  if (job->self().value != 1) wait_for_end();
  write_all(STDOUT_FILENO, std::string(static_cast<std::size_t>(arguments[0]), 'x') + "END");
  ::raise(SIGKILL);
  return 93;
}

// prompt: rank 0 asks, without a newline, and repeats the answer; the other ranks must find their stdin
// empty.
int act_prompt() {
  char answer[100] = "";
  if (job->self().value == 0) {
    write_all(STDOUT_FILENO, "name? ");
    const ssize_t bytes = ::read(STDIN_FILENO, answer, sizeof answer - 1);
    write_all(STDOUT_FILENO, "hello " + std::string(answer, bytes > 0 ? static_cast<std::size_t>(bytes) : 0));
  } else if (::read(STDIN_FILENO, answer, sizeof answer) != 0) {
    return 94;
  }
  gather_or_exit("");
  job->finish(0);
  return 0;
}

volatile sig_atomic_t got_signal = 0;

// catch <signal>: each rank that gets the signal prints a line; `quit` of rank 0 on SIGTERM.
int act_catch() {
  struct sigaction action {};
  action.sa_handler = [](int number) { got_signal = number; };
  ::sigaction(arguments[0], &action, nullptr);
  sigset_t mask, before;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, arguments[0]);
  ::sigprocmask(SIG_BLOCK, &mask, &before);
  gather_or_exit("");
  if (job->self().value == 0) write_all(STDOUT_FILENO, "ready\n");
  while (got_signal == 0) ::sigsuspend(&before);
  write_all(STDOUT_FILENO, "caught by " + std::to_string(job->self().value) + "\n");
  if (arguments[1] != 0) gather_or_exit("");
  if (arguments[1] == 0 && job->self().value != 0) wait_for_end();
  job->finish(7);
  return 7;
}

// ready: says so and waits. chatter: gathers and prints until killed.
int act_ready() {
  gather_or_exit("");
  if (job->self().value == 0) write_all(STDOUT_FILENO, "ready\n");
  wait_for_end();
}

// outlive: leaves an orphaned process.
int act_outlive() {
  if (job->self().value == 0 && ::fork() == 0) {
    ::setsid();
    if (::fork() == 0) ::sleep(60);
    ::_exit(0);
  }
  return act_ready();
}

// ignored: each rank prints the signals that it ignores.
int act_ignored() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line) && !line.starts_with("SigIgn:")) {
  }
  gather_or_exit("");
  write_all(STDOUT_FILENO, line.substr(line.find('\t') + 1) + "\n");
  gather_or_exit("");
  job->finish(0);
  return 0;
}

// stops_itself: cleans up before it stops, as a program that draws on a terminal.
int act_stops_itself() {
  ::signal(SIGTSTP, [](int) {
    ::signal(SIGTSTP, SIG_DFL);
    ::raise(SIGTSTP);
  });
  return act_ready();
}

// closes <rank>: that rank closes all files, and works on.
int act_closes() {
  gather_or_exit("");
  if (static_cast<int>(job->self().value) == arguments[0]) ::close_range(3, ~0u, 0);
  wait_for_end();
}

// stamped: says on stderr that it is ready, and waits.
int act_stamped() {
  gather_or_exit("");
  write_all(STDERR_FILENO, "ready\n");
  wait_for_end();
}

// deaf: the same as ready, and ignores Ctrl-C.
int act_deaf() {
  ::signal(SIGINT, SIG_IGN);
  return act_ready();
}

int act_chatter() {
  for (int round = 0;; ++round) {
    gather_or_exit(blob_of(job->self().value, round % 1000, 5000));
    write_all(STDOUT_FILENO, "round\n");
    ::usleep(1000);
  }
}

// child: a process started by a rank is no rank.
int act_child() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(LocalBootstrap::invited() ? 1 : 0);
  int status = 0;
  ::waitpid(child, &status, 0);
  gather_or_exit("");
  job->finish(status == 0 ? 0 : 95);
  return 0;
}

// cat: rank 0 copies its input to its output, in order.
int act_cat() {
  char bytes[5000];
  ssize_t count = 0;
  while (job->self().value == 0 && (count = ::read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
    write_all(STDOUT_FILENO, std::string(bytes, static_cast<std::size_t>(count)));
  }
  gather_or_exit("");
  job->finish(0);
  return 0;
}

// unread: no rank reads the input.
int act_unread() {
  ::close(STDIN_FILENO);
  gather_or_exit("");
  job->finish(0);
  return 0;
}

// show <words...>: the last rank prints its arguments.
int act_show() {
  if (job->self().value + 1 == job->ranks()) {
    std::string text;
    for (char** word = words; *word != nullptr; ++word) text += "<" + std::string(*word) + ">\n";
    const char* variable = std::getenv("SHOWN");
    text += variable != nullptr ? variable : "nothing";
    char folder[4096];
    text += std::string("\n") + (::getcwd(folder, sizeof folder) != nullptr ? folder : "?") + "\n";
    text += std::getenv("SSH_TEST") != nullptr ? "left in\n" : "left out\n";
    write_all(STDOUT_FILENO, text);
  }
  gather_or_exit("");
  job->finish(0);
  return 0;
}

// secret: the ranks have the same secret, and neither arguments nor environment contain it.
int act_secret() {
  const std::string secret(job->secret());
  auto all = job->all_gather(secret);
  if (!all.ok() || secret.size() < 32) return 96;
  for (const std::string& other : all.value()) {
    if (other != secret) return 97;
  }
  for (const char* file : {"/proc/self/environ", "/proc/self/cmdline"}) {
    std::ifstream in(file, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    if (text.str().find(secret.substr(0, 8)) != std::string::npos) return 98;
  }
  gather_or_exit("");
  job->finish(0);
  return 0;
}

struct Act {
  const char* name;
  int (*run)();
};
constexpr Act acts[] = {
    {"gather", act_gather},   {"finish", act_finish},   {"die", act_die},
    {"leave", act_leave},     {"abort", act_abort},     {"stubborn", act_stubborn},
    {"lines", act_lines},     {"tail", act_tail},       {"prompt", act_prompt},
    {"catch", act_catch},     {"ready", act_ready},     {"chatter", act_chatter},
    {"child", act_child},     {"deaf", act_deaf},       {"outlive", act_outlive},
    {"cat", act_cat},         {"unread", act_unread},   {"show", act_show},
    {"secret", act_secret},   {"ignored", act_ignored}, {"stops_itself", act_stops_itself},
    {"stamped", act_stamped}, {"closes", act_closes}};

}  // namespace

int main(int argc, char** argv) {
  words = argv + 1;
  for (int i = 0; i < 3 && i + 2 < argc; ++i) arguments[i] = std::atoi(argv[i + 2]);
  auto joined = LocalBootstrap::join();
  if (!joined) {
    std::fprintf(stderr, "rank_program: %s\n", joined.error().message.c_str());
    return 89;
  }
  job = std::move(joined).value();
  for (const Act& act : acts) {
    if (argc > 1 && std::strcmp(act.name, argv[1]) == 0) return act.run();
  }
  return 88;
}
