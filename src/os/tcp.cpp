#include "os/tcp.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <thread>

#include "base/cause.h"
#include "os/limits.h"
#include "os/own_files.h"
#include "os/system_call.h"

namespace musubi::os {
namespace {

constexpr int waiting_connections_max = 4096;  // the kernel lowers it to net.core.somaxconn

std::atomic<int> first_of_own_sockets{0};

// Result: the new number of the socket, or the old one if no higher number is free.
int move_up(int socket) noexcept {
  const int first = first_of_own_sockets.load(std::memory_order_relaxed);
  if (socket >= first) return socket;
  const long moved = system_call(SYS_fcntl, socket, F_DUPFD_CLOEXEC, first);
  if (moved < 0) return socket;
  system_call(SYS_close, socket);
  return static_cast<int>(moved);
}

void set_option(int socket, int level, int name, int value) noexcept {
  system_call(SYS_setsockopt, socket, level, name, as_argument(&value), sizeof value);
}

bool is_of_other_hosts(const sockaddr& address, bool is_named) noexcept {
  constexpr std::uint32_t link_local = 0xa9fe0000, link_local_mask = 0xffff0000;  // 169.254/16
  if (address.sa_family == AF_INET) {
    const std::uint32_t number = ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
    return is_named || (number & link_local_mask) != link_local;
  }
  if (address.sa_family != AF_INET6) return false;
  return !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

SocketAddress address_of(const sockaddr& from) noexcept {
  SocketAddress address;
  std::memcpy(&address.v6, &from, from.sa_family == AF_INET ? sizeof address.v4 : sizeof address.v6);
  address.set_port(0);
  return address;
}

bool parse(const std::string& text, SocketAddress& address) noexcept {
  address = SocketAddress();
  if (::inet_pton(AF_INET, text.c_str(), &address.v4.sin_addr) == 1) {
    address.v4.sin_family = AF_INET;
    return true;
  }
  address = SocketAddress();
  address.v6.sin6_family = AF_INET6;
  return ::inet_pton(AF_INET6, text.c_str(), &address.v6.sin6_addr) == 1;
}

// Sets `in_use` if the port is.
Result<FileDescriptor> listen_at_port(const SocketAddress& address, bool& in_use) {
  FileDescriptor socket(::socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.number() < 0) return Error{"cannot make a socket: " + cause_of(errno)};
  set_option(socket.number(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.any.sa_family == AF_INET6) set_option(socket.number(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (::bind(socket.number(), &address.any, address.bytes()) != 0 ||
      ::listen(socket.number(), waiting_connections_max) != 0) {
    in_use = in_use || errno == EADDRINUSE;
    return Error{cause_of(errno)};
  }
  set_option(socket.number(), IPPROTO_TCP, TCP_DEFER_ACCEPT, 1);
  return socket;
}

// Processes that call this at the same moment wake at different ones.
void pause_near(unsigned milliseconds) {
  std::uint8_t random = 0;
  random_bytes(&random, sizeof random);
  std::this_thread::sleep_for(std::chrono::microseconds(milliseconds * (872u + random)));
}

std::span<const std::uint8_t> number_of(const SocketAddress& address) noexcept {
  if (address.any.sa_family != AF_INET) return address.v6.sin6_addr.s6_addr;
  return {reinterpret_cast<const std::uint8_t*>(&address.v4.sin_addr), sizeof address.v4.sin_addr};
}

class Text {
 public:
  explicit Text(char* to) noexcept : begin_(to), end_(to) {}
  void add(char character) noexcept { *end_++ = character; }
  void add_number(unsigned number, unsigned base) noexcept {
    if (number >= base) add_number(number / base, base);
    add("0123456789abcdef"[number % base]);
  }
  std::size_t length() const noexcept { return static_cast<std::size_t>(end_ - begin_); }

 private:
  char *begin_, *end_;
};

void write_v4(const std::uint8_t* bytes, Text& text) noexcept {
  for (int i = 0; i < 4; ++i) {
    if (i != 0) text.add('.');
    text.add_number(bytes[i], 10);
  }
}

}  // namespace

void keep_own_sockets_from(int first) noexcept {
  first_of_own_sockets.store(first, std::memory_order_relaxed);
}

std::uint16_t SocketAddress::port() const noexcept {
  return ntohs(any.sa_family == AF_INET ? v4.sin_port : v6.sin6_port);
}

void SocketAddress::set_port(std::uint16_t port) noexcept {
  (any.sa_family == AF_INET ? v4.sin_port : v6.sin6_port) = htons(port);
}

bool SocketAddress::is_at_address_of(const SocketAddress& other) const noexcept {
  if (any.sa_family != other.any.sa_family) return false;
  if (any.sa_family == AF_INET) return v4.sin_addr.s_addr == other.v4.sin_addr.s_addr;
  return std::memcmp(&v6.sin6_addr, &other.v6.sin6_addr, sizeof v6.sin6_addr) == 0 &&
         v6.sin6_scope_id == other.v6.sin6_scope_id;
}

unsigned SocketAddress::common_bits(const SocketAddress& other) const noexcept {
  if (any.sa_family != other.any.sa_family || any.sa_family == AF_UNSPEC) return 0;
  const std::span<const std::uint8_t> one = number_of(*this), two = number_of(other);
  for (std::size_t i = 0; i < one.size(); ++i) {
    const auto differs = static_cast<std::uint8_t>(one[i] ^ two[i]);
    if (differs != 0) return static_cast<unsigned>(8 * i) + static_cast<unsigned>(std::countl_zero(differs));
  }
  return static_cast<unsigned>(8 * one.size());
}

std::uint32_t SocketAddress::hash() const noexcept {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const std::uint8_t byte : number_of(*this)) hash = (hash ^ byte) * 16777619;
  return hash;
}

// inet_ntop is not signal-safe.
std::size_t SocketAddress::write(char (&buffer)[text_bytes_max]) const noexcept {
  Text text(buffer);
  if (any.sa_family == AF_INET) {
    write_v4(reinterpret_cast<const std::uint8_t*>(&v4.sin_addr), text);
  } else if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    write_v4(v6.sin6_addr.s6_addr + 12, text);
  } else {
    text.add('[');
    for (int i = 0; i < 16; i += 2) {
      if (i != 0) text.add(':');
      text.add_number(unsigned{v6.sin6_addr.s6_addr[i]} << 8 | v6.sin6_addr.s6_addr[i + 1], 16);
    }
    text.add(']');
  }
  if (port() != 0) {
    text.add(':');
    text.add_number(port(), 10);
  }
  return text.length();
}

Result<std::vector<SocketAddress>> addresses_of_network(std::string_view network) {
  const std::string name(network);
  SocketAddress given;
  if (!name.empty() && parse(name, given)) return std::vector{given};
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return Error{"cannot list the network interfaces: " + cause_of(errno)};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, &::freeifaddrs);
  std::vector<SocketAddress> found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || !is_of_other_hosts(*each->ifa_addr, !name.empty())) continue;
    // From linux/if.h, which excludes net/if.h. IFF_RUNNING follows up to a second later.
    constexpr unsigned has_carrier = 1u << 16;
    const bool is_of_use =
        (each->ifa_flags & (IFF_UP | has_carrier | IFF_LOOPBACK)) == (IFF_UP | has_carrier);
    if (name.empty() ? is_of_use : name == each->ifa_name) found.push_back(address_of(*each->ifa_addr));
  }
  std::ranges::stable_sort(found, {},
                           [](const SocketAddress& each) { return each.any.sa_family != AF_INET; });
  if (!found.empty()) return found;
  if (name.empty())
    return Error{
        "no network interface is up that has an address other hosts can reach; bring one up (`ip link`)"};
  return Error{"no network interface is called " + name + " and has an address; `ip addr` lists them"};
}

Result<FileDescriptor> listen_at(SocketAddress& address, PortRange ports) {
  Error last{"no port"};
  // Linux refuses both of two sockets that begin to listen at a free port at the same moment.
  bool in_use = true;
  for (unsigned round = 0; round < 8 && in_use; ++round) {
    in_use = false;
    if (round > 0) pause_near(1u << round);
    for (unsigned port = ports.first; port <= ports.last; ++port) {
      address.set_port(static_cast<std::uint16_t>(port));
      auto socket = listen_at_port(address, in_use);
      if (socket) {
        socklen_t bytes = sizeof address.v6;
        ::getsockname(socket.value().number(), &address.any, &bytes);
        return socket;
      }
      last = socket.error();
    }
  }
  address.set_port(ports.first);
  char text[SocketAddress::text_bytes_max];
  const std::string to = ports.last > ports.first ? " to " + std::to_string(ports.last) : "";
  return Error{"cannot listen at " + std::string(text, address.write(text)) + to + ": " + last.message +
               "; give every rank of a host a port of its own by the setting ports, and an address of this "
               "host by the setting network"};
}

Result<FileDescriptor> listen_everywhere(PortRange ports, std::uint16_t& port) {
  SocketAddress address;
  address.v6.sin6_family = AF_INET6;
  auto socket = listen_at(address, ports);
  if (!socket) {  // a host without IPv6
    address = SocketAddress();
    address.v4.sin_family = AF_INET;
    socket = listen_at(address, ports);
  }
  port = address.port();
  return socket;
}

int accept_next(int listening, SocketAddress& from) noexcept {
  socklen_t bytes = sizeof from.v6;
  const auto accepted = static_cast<int>(system_call(SYS_accept4, listening, as_argument(&from.any),
                                                     as_argument(&bytes), SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (accepted < 0) return accepted;
  const int socket = move_up(accepted);
  note_own_file(socket, true);
  return socket;
}

int begin_connecting(const SocketAddress& to) noexcept {
  const auto made = static_cast<int>(
      system_call(SYS_socket, to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made < 0) return made;
  const int socket = move_up(made);
  note_own_file(socket, true);
  const long answer = system_call(SYS_connect, socket, as_argument(&to.any), to.bytes());
  if (answer == 0 || answer == -EINPROGRESS) return socket;
  close_socket(socket);
  return static_cast<int>(answer);
}

// A datagram socket takes no port from the range of outgoing connections.
bool has_address_towards(const SocketAddress& to) noexcept {
  const auto socket =
      static_cast<int>(system_call(SYS_socket, to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket < 0) return false;
  const long answer = system_call(SYS_connect, socket, as_argument(&to.any), to.bytes());
  system_call(SYS_close, socket);
  return answer != -EADDRNOTAVAIL;
}

int socket_error(int socket) noexcept {
  int error = 0;
  socklen_t bytes = sizeof error;
  const long answer =
      system_call(SYS_getsockopt, socket, SOL_SOCKET, SO_ERROR, as_argument(&error), as_argument(&bytes));
  return answer == 0 ? error : static_cast<int>(-answer);
}

void close_socket(int socket) noexcept {
  note_own_file(socket, false);
  system_call(SYS_close, socket);
}

SocketAddress address_of_peer(int socket) noexcept {
  SocketAddress address;
  socklen_t bytes = sizeof address.v6;
  system_call(SYS_getpeername, socket, as_argument(&address.any), as_argument(&bytes));
  address.set_port(0);
  return address;
}

std::uint64_t limit_of_open_files() noexcept {
  return kernel_limit(RLIMIT_NOFILE).rlim_cur;
}

void tune_connection(int socket) noexcept {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
}

// Unanswered keepalive probes end an idle connection. The count of probes matters, so `idle` may be long.
// TCP_USER_TIMEOUT would also cover bytes in flight, but it ends connections whose peer answers that its
// process takes no bytes.
void ask_while_idle(int socket, std::chrono::milliseconds idle,
                    std::chrono::milliseconds silence_max) noexcept {
  constexpr int questions = 3;
  const auto seconds = [](std::chrono::milliseconds time) {
    return std::max(1, static_cast<int>(time.count() / 1000));
  };
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds(idle));
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds(silence_max / (questions + 1)));
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, questions);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
}

// The kernel probes a peer whose process takes no bytes ever more rarely. So the age of the last answer does
// not matter, but the probes sent after it. One probe may be counted after its own answer; a second one is
// not.
bool is_unanswered(int socket, std::chrono::milliseconds time) noexcept {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  if (system_call(SYS_getsockopt, socket, IPPROTO_TCP, TCP_INFO, as_argument(&info), as_argument(&bytes)) < 0)
    return false;
  const bool bytes_wait = info.tcpi_unacked != 0 && info.tcpi_last_ack_recv > info.tcpi_last_data_sent;
  return (bytes_wait || info.tcpi_probes > 1) && info.tcpi_last_ack_recv >= time.count();
}

Result<Timer> Timer::create() {
  Timer timer;
  timer.file_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (timer.number() < 0) return Error{"cannot make a timer: " + cause_of(errno)};
  return timer;
}

void Timer::set(std::uint64_t nanoseconds) const noexcept {
  constexpr std::uint64_t second = 1'000'000'000;
  itimerspec times{};
  times.it_value.tv_sec = times.it_interval.tv_sec = static_cast<time_t>(nanoseconds / second);
  times.it_value.tv_nsec = times.it_interval.tv_nsec = static_cast<long>(nanoseconds % second);
  system_call(SYS_timerfd_settime, number(), 0, as_argument(&times), 0);
}

void Timer::silence() const noexcept {
  std::uint64_t rings = 0;
  system_call(SYS_read, number(), as_argument(&rings), sizeof rings);
}

bool random_bytes(void* to, std::size_t bytes) noexcept {
  return system_call(SYS_getrandom, as_argument(to), static_cast<long>(bytes), 0) == static_cast<long>(bytes);
}

}  // namespace musubi::os
