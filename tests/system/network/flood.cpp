// flood <port> <address>...: a stranger that connects to this port of these IPv4 addresses, repeatedly and as
// fast as it can: some connections end at once, some send nonsense, some stay and send nothing. Prints their
// number when it is terminated.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr std::size_t at_once = 256;
constexpr int step_ms = 1;
constexpr unsigned connect_steps = 2000, silent_steps = 500;
volatile std::sig_atomic_t is_terminated = 0;

struct Attempt {
  int socket = -1;
  bool is_met = false;
  unsigned steps_left = 0;
};

sockaddr_in address_of(const char* text, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  ::inet_pton(AF_INET, text, &address.sin_addr);
  return address;
}

int begin(const sockaddr_in& to) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const linger at_end{1, 0};  // a reset, which leaves no port
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_end, sizeof at_end);
  ::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  return socket;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::signal(SIGTERM, [](int) { is_terminated = 1; });
  const int port = std::atoi(argv[1]);
  std::array<Attempt, at_once> attempts;
  unsigned long made = 0, turn = 0;
  for (; is_terminated == 0; ::poll(nullptr, 0, step_ms)) {
    for (Attempt& each : attempts) {
      if (each.socket < 0) {
        const char* const to = argv[2 + ++turn % static_cast<unsigned long>(argc - 2)];
        each = {begin(address_of(to, port)), false, connect_steps};
      }
      pollfd ready{each.socket, POLLOUT, 0};
      ::poll(&ready, 1, 0);
      const bool is_new = ready.revents == POLLOUT && !each.is_met;
      if (is_new) {
        each.is_met = true;
        each.steps_left = ++made % 16 == 0 ? silent_steps : 0;
        const std::string nonsense(made % 2 == 0 ? 20 * (made % 7) : 0, 'x');
        if (each.steps_left == 0) (void)!::send(each.socket, nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
      }
      const bool has_failed = (ready.revents & (POLLERR | POLLHUP)) != 0;
      if (!has_failed && each.steps_left != 0) {
        --each.steps_left;
        continue;
      }
      ::close(each.socket);
      each.socket = -1;
    }
  }
  std::printf("%lu\n", made);
}
