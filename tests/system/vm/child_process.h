// Runs a function in a child process and collects its exit status and its standard error.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace musubi::vm {

struct ChildEnd {
  int status = 0;  // as waitpid returns it
  std::string error_text;

  bool killed_by(int signal) const { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }
  bool exited_with(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
  bool said(const std::string& text) const { return error_text.find(text) != std::string::npos; }
};

// The child ends with status 0 when `body` returns. A hang is ended by SIGALRM.
template <class Body>
ChildEnd run_in_child(Body body) {
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return {};
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::alarm(20);
    ::dup2(pipe_ends[1], STDERR_FILENO);
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
    body();
    ::_exit(0);
  }
  ::close(pipe_ends[1]);
  ChildEnd end;
  char buffer[4096];
  for (ssize_t got; (got = ::read(pipe_ends[0], buffer, sizeof buffer)) > 0;) {
    end.error_text.append(buffer, static_cast<std::size_t>(got));
  }
  ::close(pipe_ends[0]);
  ::waitpid(child, &end.status, 0);
  return end;
}

}  // namespace musubi::vm
