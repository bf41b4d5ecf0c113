#include "launch/hosts/launcher/host_link.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "launch/job_control.h"
#include "launch/output_sink.h"
#include "launch/user_signals.h"
#include "os/wait_id.h"

namespace musubi::launch {
namespace {

Error failed(const char* what, int error) {
  return Error{std::string("cannot ") + what + ": " + std::strerror(error) +
               "; name fewer hosts, or raise `ulimit -n` and `ulimit -u`"};
}

struct Pipe {
  os::FileDescriptor read_end, write_end;
};

bool make_pipe(Pipe& pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  pipe.read_end = os::FileDescriptor(ends[0]);
  pipe.write_end = os::FileDescriptor(ends[1]);
  return true;
}

// Runs in the child.
[[noreturn]] void become(const std::vector<std::string>& words, int in, int out, int error, pid_t launcher,
                         const InheritedState& inherited) {
  ::setsid();
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != launcher) ::_exit(127);
  if (::dup2(in, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 || ::dup2(error, STDERR_FILENO) < 0)
    ::_exit(127);
  ::setrlimit(RLIMIT_NOFILE, &inherited.open_files);
  ignore_only(inherited.ignored);
  ::sigprocmask(SIG_SETMASK, &inherited.signal_mask, nullptr);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  ::dprintf(STDERR_FILENO, "%s: %s\n", arguments[0], std::strerror(errno));
  ::_exit(127);
}

constexpr std::size_t complaints_bytes_max = 4096;

// The last non-empty lines, as one line.
std::string last_words(const std::string& complaints) {
  std::string words;
  std::size_t begin = 0;
  while (begin < complaints.size()) {
    const std::size_t end = std::min(complaints.find('\n', begin), complaints.size());
    std::string line = complaints.substr(begin, end - begin);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) words += (words.empty() ? "" : "; ") + printable(line);
    begin = end + 1;
  }
  constexpr std::size_t words_bytes_max = 400;
  return words.size() <= words_bytes_max ? words : "..." + words.substr(words.size() - words_bytes_max);
}

}  // namespace

std::string quoted_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'')
      quoted += "'\\''";
    else
      quoted += letter;
  }
  return quoted + "'";
}

std::string proxy_command(const std::string& musubi_path) {
  return "exec " + quoted_for_shell(musubi_path) + " proxy";
}

std::string rsh_line(const std::string& rsh) {
  const std::size_t begin = std::min(rsh.find_first_not_of(' '), rsh.size());
  const std::size_t end = std::min(rsh.find(' ', begin), rsh.size());
  const std::string_view command = std::string_view(rsh).substr(begin, end - begin);
  const bool is_ssh = command == "ssh" || command.ends_with("/ssh");
  const std::string options = is_ssh ? " -T -o BatchMode=yes -o ConnectTimeout=10" : "";
  return "exec " + rsh.substr(0, end) + options + rsh.substr(end) + " \"$@\"";
}

Result<RshProcess> start_rsh(const std::string& rsh, const std::string& host, const std::string& musubi_path,
                             const InheritedState& inherited) {
  Pipe to_proxy, from_proxy, errors;
  if (!make_pipe(to_proxy) || !make_pipe(from_proxy) || !make_pipe(errors)) {
    return failed("make a pipe", errno);
  }
  std::vector<std::string> words = {musubi_path, "proxy"};
  if (!rsh.empty()) words = {"/bin/sh", "-c", rsh_line(rsh), "musubi", host, proxy_command(musubi_path)};
  const pid_t launcher = ::getpid();
  const pid_t process_id = ::fork();
  if (process_id < 0) return failed("start a process", errno);
  if (process_id == 0) {
    become(words, to_proxy.read_end.number(), from_proxy.write_end.number(), errors.write_end.number(),
           launcher, inherited);
  }
  RshProcess process;
  process.process_id = process_id;
  process.process = os::FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_id, 0)));
  if (process.process.number() < 0) {
    const int error = errno;
    ::kill(process_id, SIGKILL);
    return failed("watch a process", error);
  }
  process.to_proxy = std::move(to_proxy.write_end);
  process.from_proxy = std::move(from_proxy.read_end);
  process.errors = std::move(errors.read_end);
  ::fcntl(process.errors.number(), F_SETFL, O_NONBLOCK);
  return process;
}

void signal_rsh(const RshProcess& process, int number) {
  // Before the child has its own group, only the child itself exists.
  if (::kill(-process.process_id, number) != 0) ::kill(process.process_id, number);
}

std::string read_complaints(HostLink& host) {
  std::string shown;
  char bytes[4096];
  while (host.rsh.errors.number() >= 0) {
    const ssize_t count = ::read(host.rsh.errors.number(), bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      host.rsh.errors.close();
      break;
    }
    host.complaints.append(bytes, static_cast<std::size_t>(count));
  }
  // Complete lines of Musubi itself are shown at once, not only after a failure.
  std::string rest;
  std::size_t begin = 0;
  for (std::size_t end = 0; (end = host.complaints.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::string line = host.complaints.substr(begin, end + 1 - begin);
    if (line.starts_with("musubi: ") && host.serves())
      shown += printable(line);
    else
      rest += line;
  }
  host.complaints = rest + host.complaints.substr(begin);
  if (host.complaints.size() > complaints_bytes_max) {
    host.complaints.erase(0, host.complaints.size() - complaints_bytes_max);
  }
  return shown;
}

std::optional<std::string> rsh_ending(HostLink& host) {
  siginfo_t info{};
  const auto which = static_cast<id_t>(host.rsh.process.number());
  if (::waitid(os::by_descriptor, which, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) {
    return std::nullopt;
  }
  const std::string how = info.si_code == CLD_EXITED ? "exit status " + std::to_string(info.si_status)
                                                     : describe_signal(info.si_status);
  const std::string words = last_words(host.complaints);
  return words.empty() ? how : how + ": " + words;
}

void hang_up(HostLink& host) {
  host.channel.close();
  if (host.is_called()) signal_rsh(host.rsh, SIGKILL);
}

}  // namespace musubi::launch
