#include "launch/local/rank_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/cause.h"
#include "bootstrap/local/address_layout.h"
#include "bootstrap/local/invitation.h"
#include "config/environment.h"
#include "launch/user_signals.h"
#include "os/binding.h"
#include "os/wait_id.h"

namespace musubi::launch {

using namespace bootstrap::local;

namespace {

enum class Step : int { death_signal, addresses, files, execute };

// Written by the child to the failure pipe if it cannot execute the program.
struct Failure {
  Step step;
  int error;
};

struct Pipe {
  os::FileDescriptor read_end, write_end;
};

Error failed(const char* what, int error) {
  std::string message = "cannot " + std::string(what) + ": " + std::strerror(error);
  if (error == EMFILE || error == ENFILE)
    message += "; raise the limit of open files (`ulimit -Hn`) or use fewer ranks";
  if (error == EAGAIN) message += "; raise the limit of processes (`ulimit -u`) or use fewer ranks";
  return Error{message};
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return failed("make a pipe", errno);
  return Pipe{os::FileDescriptor(ends[0]), os::FileDescriptor(ends[1])};
}

// glibc 2.36 declares it without extern "C".
int open_pidfd(pid_t process_id) {
  return static_cast<int>(::syscall(SYS_pidfd_open, process_id, 0));
}

Error explain(const LaunchPlan& plan, Failure failure) {
  const std::string cause = std::strerror(failure.error);
  switch (failure.step) {
    case Step::death_signal:
      return Error{"the launcher ended while it started the ranks"};
    case Step::addresses:
      return Error{
          "the kernel does not let a process switch off the randomisation of its addresses (" + cause +
          "), which all ranks need; in a container, allow personality(2) in the seccomp profile, for "
          "example by `docker run --security-opt seccomp=unconfined`"};
    case Step::files:
      return Error{"cannot set up the files of a rank: " + cause_of(failure.error)};
    case Step::execute:
      return Error{"cannot execute " + plan.program + ": " + cause};
  }
  return Error{cause};
}

// Runs in the child. The launcher has one thread when it forks, so any function may be called.
class Child {
 public:
  Child(const LaunchPlan& plan, Rank rank, InheritedFiles files, const InheritedState& inherited,
        pid_t launcher)
      : plan_(plan), rank_(rank), files_(files), inherited_(inherited), launcher_(launcher) {}

  [[noreturn]] void become_program(int socket, int output, int error, int failure_pipe) {
    const Failure failure = prepare(socket, output, error, failure_pipe);
    [[maybe_unused]] const ssize_t written = ::write(failure_pipe, &failure, sizeof failure);
    ::_exit(127);
  }

 private:
  Failure prepare(int socket, int output, int error, int failure_pipe) {
    // The kernel kills the rank when its launcher ends. If the launcher has ended already, it would not.
    if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || ::getppid() != launcher_)
      return {Step::death_signal, errno};
    if (!plan_.plain) {
      bool fixed = false;
      stack_limit_ = ask_for_usual_layout(fixed);
      if (!fixed) return {Step::addresses, EPERM};
    }
    // Other programs join the job and are bound then, hidden from the program.
    if (plan_.plain && !plan_.processors.empty()) os::bind_process(plan_.processors[plan_.here.index(rank_)]);
    if (!arrange_files(socket, output, error)) return {Step::files, errno};
    ::setrlimit(RLIMIT_NOFILE, &inherited_.open_files);
    ignore_only(inherited_.ignored);
    // The terminal's quit key requests a report of the launcher. A program may still handle the signal.
    if (!plan_.plain) ::signal(SIGQUIT, SIG_IGN);
    ::sigprocmask(SIG_SETMASK, &inherited_.signal_mask, nullptr);
    await_welcome(socket, failure_pipe);
    execute();
    return {Step::execute, errno};
  }

  // Waits until rank 0 has joined, which shows that it executes the program. Closing the pipe lets the
  // launcher go on.
  static void await_welcome(int socket, int failure_pipe) {
    pollfd welcome{socket, POLLIN, 0};
    if (::poll(&welcome, 1, 0) != 0) return;
    ::close(failure_pipe);
    while (::poll(&welcome, 1, -1) < 0) {
    }
  }

  bool arrange_files(int socket, int output, int error) {
    if (rank_.value != 0) {
      const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0) return false;
    } else if (::fcntl(STDIN_FILENO, F_SETFD, 0) != 0) {
      return false;
    }
    return ::dup2(output, STDOUT_FILENO) >= 0 && ::dup2(error, STDERR_FILENO) >= 0 &&
           ::dup2(socket, files_.socket_slot) >= 0 && ::fcntl(files_.board, F_SETFD, 0) == 0 &&
           (files_.events < 0 || ::fcntl(files_.events, F_SETFD, 0) == 0);
  }

  void execute() {
    const Invitation invitation{files_.socket_slot, rank_,        plan_.ranks,
                                ::getpid(),         files_.board, std::max(files_.events, 0),
                                stack_limit_};
    const std::string variable = std::string(config::job_variable) + "=";
    std::vector<std::string> environment = plan_.environment;
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(variable); });
    environment.push_back(variable + format_invitation(invitation));
    std::vector<std::string> arguments = plan_.arguments;
    ::execve(plan_.program.c_str(), pointers(arguments).data(), pointers(environment).data());
  }

  static std::vector<char*> pointers(std::vector<std::string>& strings) {
    std::vector<char*> result;
    for (std::string& text : strings) result.push_back(text.data());
    result.push_back(nullptr);
    return result;
  }

  const LaunchPlan& plan_;
  const Rank rank_;
  const InheritedFiles files_;
  const InheritedState& inherited_;
  const pid_t launcher_;
  std::uint64_t stack_limit_ = 0;  // the user's
};

rlimit raise_limit_of_open_files() {
  rlimit original{};
  ::getrlimit(RLIMIT_NOFILE, &original);
  const rlimit raised{original.rlim_max, original.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &raised);
  return original;
}

void kill_and_reap(const std::vector<RankProcess>& ranks) {
  for (const RankProcess& rank : ranks) ::kill(rank.process_id, SIGKILL);
  for (const RankProcess& rank : ranks) ::waitpid(rank.process_id, nullptr, 0);
}

}  // namespace

bool joins_by_preload(const LaunchPlan& plan) {
  return std::ranges::any_of(plan.environment, [](const std::string& variable) {
    return variable.starts_with("LD_PRELOAD=") && variable.find("libmusubi-omp.so") != std::string::npos;
  });
}

Welcome welcome_of(const LaunchPlan& plan, Rank rank) {
  Welcome welcome = plan.welcome;
  if (!plan.processors.empty()) welcome.processors = plan.processors[plan.here.index(rank)];
  return welcome;
}

Result<RankProcess> start_rank(const LaunchPlan& plan, Rank rank, InheritedFiles files,
                               const InheritedState& inherited) {
  MUSUBI_ASSIGN_OR_RETURN(auto output, make_pipe());
  MUSUBI_ASSIGN_OR_RETURN(auto error, make_pipe());
  MUSUBI_ASSIGN_OR_RETURN(auto failure_pipe, make_pipe());
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return failed("make a socket", errno);
  RankLink link{os::FileDescriptor(ends[0])};
  const os::FileDescriptor rank_end(ends[1]);
  if (rank.value == 0 || !joins_by_preload(plan)) link.welcome(welcome_of(plan, rank));
  const pid_t launcher = ::getpid();
  const pid_t process_id = ::fork();
  if (process_id < 0) return failed("start a process", errno);
  if (process_id == 0) {
    Child(plan, rank, files, inherited, launcher)
        .become_program(rank_end.number(), output.write_end.number(), error.write_end.number(),
                        failure_pipe.write_end.number());
  }
  RankProcess process;
  process.process_id = process_id;
  process.process = os::FileDescriptor(open_pidfd(process_id));
  const int pidfd_error = errno;
  failure_pipe.write_end.close();
  Failure failure{};
  ssize_t bytes = 0;
  while ((bytes = ::read(failure_pipe.read_end.number(), &failure, sizeof failure)) < 0 && errno == EINTR) {
  }
  if (bytes == static_cast<ssize_t>(sizeof failure) || process.process.number() < 0) {
    ::kill(process_id, SIGKILL);
    ::waitpid(process_id, nullptr, 0);
    return process.process.number() < 0 ? failed("watch a process", pidfd_error) : explain(plan, failure);
  }
  process.link = std::move(link);
  process.output = std::move(output.read_end);
  process.error = std::move(error.read_end);
  ::fcntl(process.output.number(), F_SETFL, O_NONBLOCK);
  ::fcntl(process.error.number(), F_SETFL, O_NONBLOCK);
  return process;
}

std::optional<Ending> reap(const RankProcess& process) {
  siginfo_t info{};
  const auto which = static_cast<id_t>(process.process.number());
  if (::waitid(os::by_descriptor, which, &info, WEXITED | WNOHANG) != 0 || info.si_pid == 0)
    return std::nullopt;
  return Ending{info.si_code != CLD_EXITED, info.si_status};
}

InheritedState prepare_to_start(const UserSignals& signals) {
  return {signals.original_mask(), signals.originally_ignored(), raise_limit_of_open_files()};
}

Result<std::vector<RankProcess>> start_ranks(const LaunchPlan& plan, const InheritedState& inherited,
                                             int board, int events) {
  // Reserves a number that no other inherited file of a rank has.
  const os::FileDescriptor socket_slot(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<RankProcess> ranks;
  for (std::uint32_t index = 0; index < plan.here.count; ++index) {
    auto started = start_rank(plan, plan.here[index], {socket_slot.number(), board, events}, inherited);
    if (!started) {
      kill_and_reap(ranks);
      return started.error();
    }
    ranks.push_back(std::move(started).value());
  }
  return ranks;
}

}  // namespace musubi::launch
