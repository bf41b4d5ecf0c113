// slow_hub <milliseconds> <name> <count> <network, as in 10.88.0>: joins network namespaces <name>-1,
// <name>-2, ... that act as hosts: gives each an interface eth0 with the address <network>.n, and forwards
// each packet after the delay. Runs until it is killed.
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t frame_bytes_max = 2048, waiting_max = 10000;  // beyond it, frames are lost

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

// A host's end of the hub.
struct Port {
  int tap = -1;
  std::mutex mutex;
  std::condition_variable filled;
  std::deque<std::pair<Clock::time_point, std::string>> waiting;

  void push(Clock::time_point due, const std::string& frame) {
    const std::lock_guard lock(mutex);
    if (waiting.size() < waiting_max) waiting.emplace_back(due, frame);
    filled.notify_one();
  }
  void send_all() {
    for (;;) {
      std::unique_lock lock(mutex);
      filled.wait(lock, [&] { return !waiting.empty(); });
      const auto [due, frame] = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      std::this_thread::sleep_until(due);
      (void)!::write(tap, frame.data(), frame.size());
    }
  }
};

int open_tap(const std::string& host, const std::string& address) {
  const int space = ::open(("/run/netns/" + host).c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || ::setns(space, CLONE_NEWNET) != 0) give_up(host.c_str());
  ::close(space);
  const int tap = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  ifreq request{};
  std::strcpy(request.ifr_name, "eth0");
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (tap < 0 || ::ioctl(tap, TUNSETIFF, &request) != 0) give_up("/dev/net/tun");
  const std::string up =
      "ip addr add " + address + "/24 dev eth0 && ip link set eth0 up && ip link set lo up";
  if (std::system(up.c_str()) != 0) std::exit(1);
  return tap;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const std::chrono::milliseconds delay(std::atoi(argv[1]));
  const auto count = static_cast<std::size_t>(std::atoi(argv[3]));
  std::vector<std::unique_ptr<Port>> ports;
  for (std::size_t i = 1; i <= count; ++i) {
    const std::string number = std::to_string(i);
    ports.push_back(std::make_unique<Port>());
    ports.back()->tap = open_tap(std::string(argv[2]) + "-" + number, std::string(argv[4]) + "." + number);
  }
  std::vector<std::thread> threads;
  for (const auto& own : ports) {
    threads.emplace_back([&] { own->send_all(); });
    threads.emplace_back([&] {
      char bytes[frame_bytes_max];
      for (ssize_t got = 0; (got = ::read(own->tap, bytes, sizeof bytes)) > 0;) {
        const std::string frame(bytes, static_cast<std::size_t>(got));
        for (const auto& each : ports) {
          if (each != own) each->push(Clock::now() + delay, frame);
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
}
