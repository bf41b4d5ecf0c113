#include "launch/watcher.h"

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/check.h"
#include "os/clock.h"

namespace musubi::launch {

Watcher::Watcher() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  MUSUBI_CHECK(epoll_.number() >= 0, "epoll_create1");
}

bool Watcher::watch(int descriptor, std::uint32_t subject, std::uint32_t index, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = (static_cast<std::uint64_t>(subject) << 32) | index;
  if (::epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, descriptor, &event) == 0) return true;
  if (errno == EPERM) return false;
  MUSUBI_CHECK(::epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, descriptor, &event) == 0);
  return true;
}

void Watcher::unwatch(int descriptor) {
  ::epoll_ctl(epoll_.number(), EPOLL_CTL_DEL, descriptor, nullptr);
}

std::span<const Watcher::Event> Watcher::wait(std::optional<std::uint64_t> deadline_ns) {
  int timeout_ms = -1;
  if (deadline_ns) {
    constexpr std::uint64_t ms = 1'000'000;
    const std::uint64_t now_ns = os::monotonic_ns();
    const std::uint64_t left_ms = *deadline_ns <= now_ns ? 0 : (*deadline_ns - now_ns + ms - 1) / ms;
    timeout_ms = static_cast<int>(std::min<std::uint64_t>(left_ms, INT_MAX));
  }
  epoll_event events[events_max];
  const int count = ::epoll_wait(epoll_.number(), events, events_max, timeout_ms);
  const std::size_t ready = count < 0 ? 0 : static_cast<std::size_t>(count);  // negative: a signal arrived
  for (std::size_t i = 0; i < ready; ++i) {
    ready_[i] = {static_cast<std::uint32_t>(events[i].data.u64 >> 32),
                 static_cast<std::uint32_t>(events[i].data.u64), events[i].events};
  }
  return {ready_, ready};
}

std::optional<std::uint64_t> earlier(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  if (!a) return b;
  return b ? std::min(*a, *b) : a;
}

}  // namespace musubi::launch
