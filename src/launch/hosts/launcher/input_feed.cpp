#include "launch/hosts/launcher/input_feed.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

namespace musubi::launch {
namespace {

constexpr std::int64_t window_bytes = 64 * 1024;

}  // namespace

// Reading from the terminal would stop a background job, including the launcher.
bool InputFeed::in_background() {
  const pid_t foreground = ::tcgetpgrp(STDIN_FILENO);
  return foreground > 0 && foreground != ::getpgrp();
}

void InputFeed::set_watched(bool watched) {
  if (watched == watched_) return;
  watched_ = watched;
  if (watched)
    watchable_ = watcher_.watch(STDIN_FILENO, subject_, 0, EPOLLIN);
  else if (watchable_)
    watcher_.unwatch(STDIN_FILENO);
}

void InputFeed::read_more(Channel& channel) {
  const bool readable = std::exchange(readable_, false);
  if (ended_) return;
  set_watched(under_way_bytes_ < window_bytes && !in_background());
  // A read could block if the watcher has not reported input.
  while (watched_ && (readable || !watchable_)) {
    char bytes[16 * 1024];
    const ssize_t count = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (count <= 0) {
      channel.send(MessageKind::input_end);
      return stop();
    }
    channel.send(MessageKind::input, 0, {bytes, static_cast<std::size_t>(count)});
    under_way_bytes_ += count;
    set_watched(under_way_bytes_ < window_bytes);
    if (watchable_) return;
  }
}

void InputFeed::stop() {
  set_watched(false);
  ended_ = true;
}

}  // namespace musubi::launch
