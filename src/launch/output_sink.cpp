#include "launch/output_sink.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace musubi::launch
