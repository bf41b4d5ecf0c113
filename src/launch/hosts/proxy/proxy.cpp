#include "launch/hosts/proxy/proxy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/cause.h"
#include "bootstrap/local/address_layout.h"
#include "launch/hosts/proxy/proxy_loop.h"
#include "launch/local/rank_process.h"
#include "os/clock.h"

namespace musubi::launch {
namespace {

constexpr int status_of_failure = 125;
constexpr std::uint64_t patience_at_start_ns = 60'000'000'000;

// Moves the channel away from the numbers that ranks inherit; stray output of this process goes to stderr.
Channel channel_of(int from, int to, ChannelSeal seal = {}) {
  os::FileDescriptor in(::fcntl(from, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  os::FileDescriptor out(::fcntl(to, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  const os::FileDescriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  ::dup2(nothing.number(), STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return {std::move(in), std::move(out), false, patience_at_start_ns, std::move(seal)};
}

ChannelSeal seal_of(const StartedByOther& other) {
  const ChannelKeys keys = channel_keys(other.secret, other.rank);
  return {keys.to_launcher, keys.to_proxy};
}

// Starts the ranks; ProxyLoop serves them.
class Proxy {
 public:
  explicit Proxy(const ProxyServices& services)
      : services_(services), channel_(channel_of(STDIN_FILENO, STDOUT_FILENO)) {}
  Proxy(const ProxyServices& services, StartedByOther other)
      : services_(services),
        channel_(channel_of(other.socket.number(), other.socket.number(), seal_of(other))),
        secret_(std::move(other.secret)),
        carrier_(other.carrier) {}

  int run() {
    channel_.watch(watcher_, static_cast<std::uint32_t>(ProxyLoop::Subject::channel), 0);
    watcher_.watch(signals_.descriptor(), static_cast<std::uint32_t>(ProxyLoop::Subject::signals), 0,
                   EPOLLIN);
    channel_.send_preamble();
    channel_.send(MessageKind::hello, 0, encode(services_.greeting));
    const auto asked = await(MessageKind::order);
    if (!asked) return status_of_failure;
    auto order = decode<JobOrder>(asked->body);
    if (!order) return refuse(order.error());
    order_ = std::move(order).value();
    if (!secret_.empty()) {
      order_.welcome.secret = secret_;
      order_.welcome.carrier = carrier_;
    }
    if (const auto ready = prepare(); !ready) return refuse(ready.error());
    auto facts = services_.examine(order_);
    if (!facts) return refuse(facts.error());
    channel_.send(MessageKind::facts, 0, encode(facts.value()));
    if (!await(MessageKind::start)) return order_.examine ? 0 : status_of_failure;
    return serve();
  }

 private:
  // Blocks. Nothing if the launcher is gone or sends another message, or if this process is told to end.
  std::optional<Message> await(MessageKind kind) {
    while (true) {
      Message message;
      switch (channel_.receive(message)) {
        case Channel::Got::message:
          if (message.kind == MessageKind::alive) continue;
          if (message.kind != kind) return std::nullopt;
          return message;
        case Channel::Got::nothing:
          break;
        case Channel::Got::closed:
          return std::nullopt;
        case Channel::Got::broken:
          std::fprintf(stderr, "musubi: no ranks start here: a message of the launcher %s\n",
                       channel_.trouble());
          return std::nullopt;
      }
      const auto deadline = channel_.silent_at_ns();
      watcher_.wait(deadline);
      channel_.flush();
      const auto signal = signals_.next();
      if ((signal && signal->asks_to_end()) || (deadline && os::monotonic_ns() > *deadline))
        return std::nullopt;
    }
  }

  int refuse(const Error& error) {
    channel_.send(MessageKind::refused, 0, error.message);
    channel_.flush_until(os::monotonic_ns() + patience_at_start_ns);
    return status_of_failure;
  }

  Result<void> prepare() {
    if (::chdir(order_.folder.c_str()) != 0) {
      return Error{"cannot work in " + order_.folder + ": " + std::strerror(errno) +
                   "; start the job in a folder that all hosts have"};
    }
    ::umask(order_.file_mask);
    bootstrap::local::set_stack_limit(order_.stack_bytes);
    inherited_.ignored = order_.ignored_signals;
    return {};
  }

  LaunchPlan plan() {
    LaunchPlan plan;
    plan.program = order_.program;
    plan.arguments = order_.arguments;
    plan.environment = order_.environment;
    plan.ranks = order_.ranks;
    plan.here = order_.here;
    plan.welcome = order_.welcome;
    plan.processors = services_.place(order_);
    plan.events_per_thread = order_.events_per_thread;
    plan.label_output = order_.label_output;
    plan.plain = order_.plain;
    // Symbols are read from files that may be large, so announce a longer silence to the launcher.
    plan.find_places = [this](pid_t process) {
      channel_.send(MessageKind::alive, order_.start_timeout / std::chrono::milliseconds(1));
      channel_.flush();
      return services_.find_places(process);
    };
    return plan;
  }

  int serve() {
    const LaunchPlan job = plan();
    // The read end becomes this process's stdin, which rank 0 inherits.
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return refuse(Error{"cannot make a pipe: " + cause_of(errno)});
    InputPipe input{os::FileDescriptor(ends[1])};
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    auto boards = WaitBoards::make(job.ranks);
    if (!boards) return refuse(boards.error());
    auto events = EventMemory::make(job.ranks, job.events_per_thread);
    if (!events) return refuse(events.error());
    auto ranks = start_ranks(job, inherited_, boards.value().file(), events.value().file());
    const os::FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(nothing.number(), STDIN_FILENO);
    if (!ranks) return refuse(ranks.error());
    channel_.send(MessageKind::started);
    return ProxyLoop(job, order_, channel_, watcher_, signals_, std::move(ranks).value(), boards.value(),
                     events.value(), std::move(input))
        .run();
  }

  const ProxyServices& services_;
  UserSignals signals_;
  InheritedState inherited_ = prepare_to_start(signals_);
  Watcher watcher_;
  Channel channel_;
  std::string secret_;  // empty: secret and carrier are in the order
  bootstrap::Carrier carrier_;
  JobOrder order_;
};

}  // namespace

int run_proxy(const ProxyServices& services) {
  return Proxy(services).run();
}

int run_proxy(const ProxyServices& services, StartedByOther other) {
  return Proxy(services, std::move(other)).run();
}

}  // namespace musubi::launch
