#include "launch/output_sink.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "base/thread_safety.h"

namespace musubi::launch {
namespace {

bool same_file(int a, int b) {
  struct stat first {
  }, second{};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80;
}

// Size of the first character of `text`; 0: it must not be shown.
std::size_t shown_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return (first >= ' ' && first != 0x7f) || first == '\n' || first == '\t' ? 1 : 0;
  const auto bytes = static_cast<std::size_t>(std::countl_one(first));
  if (bytes < 2 || bytes > 4 || text.size() < bytes) return 0;
  if (!std::ranges::all_of(text.substr(1, bytes - 1), is_continuation)) return 0;
  const bool is_control = first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
  // Overlong forms encode bytes that are refused above.
  const bool is_overlong = first < 0xc2 || (first == 0xe0 && static_cast<unsigned char>(text[1]) < 0xa0) ||
                           (first == 0xf0 && static_cast<unsigned char>(text[1]) < 0x90);
  return is_control || is_overlong ? 0 : bytes;
}

}  // namespace

StandardOutputs::StandardOutputs(int progress_event) : output_(STDOUT_FILENO, progress_event) {
  if (!same_file(STDOUT_FILENO, STDERR_FILENO)) error_.emplace(STDERR_FILENO, progress_event);
}

OutputSink::OutputSink(int descriptor, int progress_event)
    : descriptor_(descriptor), progress_event_(progress_event), thread_([this] { run(); }) {}

OutputSink::~OutputSink() {
  {
    const Held lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void OutputSink::write(std::string text) {
  if (text.empty()) return;
  {
    const Held lock(mutex_);
    if (broken_) return;
    queued_ += text;
  }
  changed_.notify_one();
}

bool OutputSink::full() const {
  constexpr std::size_t bytes_max = 1 << 20;
  const Held lock(mutex_);
  return queued_.size() + in_flight_bytes_ >= bytes_max;
}

bool OutputSink::idle() const {
  const Held lock(mutex_);
  return queued_.empty() && in_flight_bytes_ == 0;
}

bool OutputSink::broken() const {
  const Held lock(mutex_);
  return broken_;
}

int OutputSink::failure() const {
  const Held lock(mutex_);
  return failure_;
}

void OutputSink::run() {
  mutex_.lock();
  while (true) {
    while (!closing_ && queued_.empty()) changed_.wait(mutex_);
    if (queued_.empty()) break;
    const std::string batch = std::exchange(queued_, {});
    in_flight_bytes_ = batch.size();
    mutex_.unlock();
    const int error = write_all(batch);
    mutex_.lock();
    in_flight_bytes_ = 0;
    if (error == EPIPE) {
      broken_ = true;
      queued_.clear();
    } else if (failure_ == 0) {
      failure_ = error;
    }
    ::eventfd_write(progress_event_, 1);
  }
  mutex_.unlock();
}

// Result: 0 or errno.
int OutputSink::write_all(const std::string& text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t result = ::write(descriptor_, text.data() + written, text.size() - written);
    if (result >= 0) {
      written += static_cast<std::size_t>(result);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {  // another process made the file non-blocking
      pollfd waiting{descriptor_, POLLOUT, 0};
      ::poll(&waiting, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

std::string printable(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t bytes = shown_bytes(text);
    shown += bytes == 0 ? std::string_view("?") : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return shown;
}

}  // namespace musubi::launch
