#include "launch/hosts/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/clock.h"

namespace musubi::launch {
namespace {

constexpr std::uint32_t header_magic = 0x6d736267;
constexpr std::uint64_t body_bytes_max = 5ull << 30;  // what an exchange may give back, and some
constexpr std::size_t noise_bytes_max = 64 * 1024;
constexpr std::size_t read_bytes = 64 * 1024;

struct Header {
  std::uint32_t magic;
  MessageKind kind;
  std::int64_t number;
  std::uint64_t body_bytes;
};

bool is_valid(const Header& header) {
  return header.magic == header_magic && header.kind >= MessageKind::hello &&
         header.kind <= MessageKind::reported && header.body_bytes <= body_bytes_max;
}

std::string header_text(MessageKind kind, std::int64_t number, std::size_t body_bytes) {
  const Header header{header_magic, kind, number, body_bytes};
  return {reinterpret_cast<const char*>(&header), sizeof header};
}

}  // namespace

Channel::Channel(os::FileDescriptor in, os::FileDescriptor out, bool expect_preamble,
                 std::uint64_t patience_ns)
    : in_(std::move(in)),
      out_(std::move(out)),
      expect_preamble_(expect_preamble),
      heard_ns_(os::monotonic_ns()),
      patience_ns_(patience_ns) {
  for (const int file : {in_.number(), out_.number()}) {
    ::fcntl(file, F_SETFL, ::fcntl(file, F_GETFL) | O_NONBLOCK);
  }
}

void Channel::watch(Watcher& watcher, std::uint32_t subject, std::uint32_t index) {
  watcher_ = &watcher;
  subject_ = subject;
  index_ = index;
  watcher.watch(in_.number(), subject, index, EPOLLIN);
  update_watch();
}

void Channel::close() {
  if (watcher_ != nullptr && open()) {
    watcher_->unwatch(in_.number());
    if (watching_output_) watcher_->unwatch(out_.number());
  }
  in_.close();
  out_.close();
  queue_.clear();
}

void Channel::send(MessageKind kind, std::int64_t number, std::string_view body) {
  std::string text = header_text(kind, number, body.size());
  text += body;
  queue(std::make_shared<const std::string>(std::move(text)));
}

void Channel::send_shared(MessageKind kind, std::shared_ptr<const std::string> body) {
  const std::size_t bytes = body->size();
  queue(std::make_shared<const std::string>(header_text(kind, 0, bytes)));
  if (bytes > 0) queue(std::move(body));
}

void Channel::send_preamble() {
  queue(std::make_shared<const std::string>(preamble));
}

void Channel::queue(std::shared_ptr<const std::string> text) {
  if (!open()) return;
  queue_.push_back({std::move(text), 0});
  if (queue_.size() == 1) flush();
}

// An error of writing is not told here: the other side's end is seen by reading.
void Channel::flush() {
  while (open() && !queue_.empty()) {
    Piece& piece = queue_.front();
    const ssize_t bytes =
        ::write(out_.number(), piece.text->data() + piece.sent, piece.text->size() - piece.sent);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == EAGAIN) break;
    if (bytes < 0) {
      queue_.clear();
      break;
    }
    piece.sent += static_cast<std::size_t>(bytes);
    if (piece.sent == piece.text->size()) queue_.pop_front();
  }
  update_watch();
}

void Channel::flush_until(std::uint64_t deadline_ns) {
  while (open() && !queue_.empty() && os::monotonic_ns() < deadline_ns) {
    pollfd file{out_.number(), POLLOUT, 0};
    constexpr int look_again_ms = 50;
    ::poll(&file, 1, look_again_ms);
    flush();
  }
}

void Channel::update_watch() {
  const bool wanted = open() && !queue_.empty();
  if (watcher_ == nullptr || wanted == watching_output_) return;
  watching_output_ = wanted;
  if (wanted)
    watcher_->watch(out_.number(), subject_, index_, EPOLLOUT);
  else
    watcher_->unwatch(out_.number());
}

bool Channel::fill() {
  if (!open() || ended_) return false;
  // What a large body lacks is read at once into its place.
  std::size_t wanted = read_bytes;
  Header header;
  if (!expect_preamble_ && received_.size() - parsed_ >= sizeof header) {
    std::memcpy(&header, received_.data() + parsed_, sizeof header);
    const std::size_t whole = parsed_ + sizeof header + header.body_bytes;
    constexpr std::size_t at_once = 1 << 20;
    if (is_valid(header) && whole > received_.size()) {
      wanted = std::clamp(whole - received_.size(), read_bytes, at_once);
    }
  }
  const std::size_t before = received_.size();
  received_.resize(before + wanted);
  ssize_t bytes = 0;
  while ((bytes = ::read(in_.number(), received_.data() + before, wanted)) < 0 && errno == EINTR) {
  }
  received_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  if (bytes > 0) {
    heard_ns_ = os::monotonic_ns();
    return true;
  }
  ended_ = bytes == 0 || errno != EAGAIN;
  return false;
}

bool Channel::find_preamble() {
  const std::size_t at = received_.find(preamble);
  if (at == std::string::npos) {
    noise_ = received_.substr(0, 1024);
    broken_ = broken_ || received_.size() > noise_bytes_max;
    return false;
  }
  parsed_ = at + preamble.size();
  expect_preamble_ = false;
  return true;
}

Channel::Got Channel::parse(Message& message) {
  if (expect_preamble_ && !find_preamble()) return broken_ ? Got::broken : Got::nothing;
  Header header;
  if (received_.size() - parsed_ < sizeof header) return Got::nothing;
  std::memcpy(&header, received_.data() + parsed_, sizeof header);
  if (!is_valid(header)) {
    broken_ = true;
    return Got::broken;
  }
  if (received_.size() - parsed_ - sizeof header < header.body_bytes) return Got::nothing;
  message.kind = header.kind;
  message.number = header.number;
  message.body.assign(received_, parsed_ + sizeof header, header.body_bytes);
  parsed_ += sizeof header + header.body_bytes;
  if (parsed_ == received_.size() || parsed_ > (1 << 20)) {
    received_.erase(0, parsed_);
    parsed_ = 0;
  }
  if (message.kind == MessageKind::alive) set_patience_ms(message.number);
  return Got::message;
}

Channel::Got Channel::receive(Message& message) {
  if (!open()) return Got::closed;
  while (!broken_) {
    const Got got = parse(message);
    if (got != Got::nothing) return got;
    if (!fill()) return ended_ ? Got::closed : Got::nothing;
  }
  return Got::broken;
}

std::optional<std::uint64_t> Channel::silent_at_ns() const {
  if (!open() || !patience_ns_) return std::nullopt;
  return heard_ns_ + *patience_ns_;
}

void Channel::set_patience_ms(std::int64_t ms) {
  patience_ns_.reset();
  if (ms > 0) patience_ns_ = static_cast<std::uint64_t>(ms) * 1'000'000;
}

}  // namespace musubi::launch
