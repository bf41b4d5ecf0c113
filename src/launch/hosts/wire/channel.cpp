#include "launch/hosts/wire/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "launch/hosts/wire/message.h"
#include "os/clock.h"

namespace musubi::launch {
namespace {

constexpr std::uint32_t header_magic = 0x6d736267;
constexpr std::size_t noise_bytes_max = 64 * 1024;
constexpr std::size_t read_bytes = 64 * 1024;
// Minimum rate of a message that has begun, so that it ends.
constexpr std::uint64_t slowest_bytes_per_ms = 64;

constexpr const char* was_damaged = "was damaged on its way";
constexpr const char* is_foreign = "was damaged on its way, or another version of Musubi speaks";
constexpr const char* is_not_understood = "is not understood";

}  // namespace

Channel::Channel(os::FileDescriptor in, os::FileDescriptor out, bool expect_preamble,
                 std::uint64_t patience_ns, ChannelSeal seal)
    : in_(std::move(in)),
      out_(std::move(out)),
      expect_preamble_(expect_preamble),
      seal_(std::move(seal)),
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

bool Channel::is_valid(const Header& header) {
  return header.magic == header_magic && header.kind >= MessageKind::hello &&
         header.kind <= MessageKind::reported && header.body_bytes <= body_bytes_max(header.kind);
}

std::string Channel::begin_message(MessageKind kind, std::int64_t number, std::size_t body_bytes) {
  MUSUBI_CHECK(body_bytes <= body_bytes_max(kind), "a message of kind %u and %zu bytes",
               static_cast<unsigned>(kind), body_bytes);
  const Header header{header_magic, kind, number, body_bytes};
  std::string text = has_salt_sent_ ? std::string() : seal_.begin_sending();
  has_salt_sent_ = true;
  return text + seal_.close({reinterpret_cast<const char*>(&header), sizeof header});
}

void Channel::send(MessageKind kind, std::int64_t number, std::string_view body) {
  if (!open()) return;
  std::string text = begin_message(kind, number, body.size());
  if (!body.empty()) text += seal_.close(body);
  queue(std::make_shared<const std::string>(std::move(text)));
}

void Channel::send_shared(MessageKind kind, std::shared_ptr<const std::string> body) {
  if (seal_.hides() || body->empty()) return send(kind, 0, *body);
  if (!open()) return;
  queue(std::make_shared<const std::string>(begin_message(kind, 0, body->size())));
  auto tail = std::make_shared<const std::string>(seal_.tail_of(*body));
  queue(std::move(body));
  queue(std::move(tail));
}

void Channel::send_preamble() {
  queue(std::make_shared<const std::string>(preamble));
}

void Channel::queue(std::shared_ptr<const std::string> text) {
  if (!open()) return;
  queue_.push_back({std::move(text), 0});
  if (queue_.size() == 1) flush();
}

// Write errors are not reported here: reading detects the end of the other side.
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
  // Reads the rest of a large body at once, into its place.
  std::size_t wanted = read_bytes;
  if (header_) {
    constexpr std::size_t at_once = 1 << 20;
    const std::size_t whole = header_->body_bytes + seal_.tail_bytes();
    wanted = std::clamp(whole - std::min(whole, unparsed()), read_bytes, at_once);
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
    if (received_.size() > noise_bytes_max) trouble_ = is_not_understood;
    return false;
  }
  parsed_ = at + preamble.size();
  expect_preamble_ = false;
  return true;
}

Channel::Got Channel::find_trouble(const char* trouble) {
  trouble_ = trouble;
  return Got::broken;
}

// Result: false if it is damaged.
bool Channel::open_header() {
  Header header;
  const bool is_whole =
      seal_.open(received_.data() + parsed_, sizeof header, reinterpret_cast<char*>(&header));
  if (!is_whole || !is_valid(header)) return false;
  parsed_ += sizeof header + seal_.tail_bytes();
  header_ = header;
  return true;
}

bool Channel::open_body(Message& message) {
  message.body.resize(header_->body_bytes);
  if (message.body.empty()) return true;
  if (!seal_.open(received_.data() + parsed_, message.body.size(), message.body.data())) return false;
  parsed_ += message.body.size() + seal_.tail_bytes();
  return true;
}

Channel::Got Channel::parse(Message& message) {
  if (expect_preamble_ && !find_preamble()) return trouble_ != nullptr ? Got::broken : Got::nothing;
  if (!has_salt_) {
    if (unparsed() < seal_.salt_bytes()) return Got::nothing;
    if (!seal_.begin_receiving(received_.data() + parsed_)) return find_trouble(was_damaged);
    parsed_ += seal_.salt_bytes();
    has_salt_ = true;
  }
  if (!header_) {
    if (unparsed() < sizeof(Header) + seal_.tail_bytes()) return Got::nothing;
    if (!open_header()) return find_trouble(has_spoken_ ? was_damaged : is_foreign);
  }
  const std::size_t body_bytes = header_->body_bytes;
  if (body_bytes != 0 && unparsed() < body_bytes + seal_.tail_bytes()) return Got::nothing;
  if (!open_body(message)) return find_trouble(was_damaged);
  message.kind = header_->kind;
  message.number = header_->number;
  header_.reset();
  if (parsed_ == received_.size() || parsed_ > (1 << 20)) {
    received_.erase(0, parsed_);
    parsed_ = 0;
  }
  begun_ns_.reset();
  has_spoken_ = true;
  if (message.kind == MessageKind::alive) set_patience_ms(message.number);
  return Got::message;
}

Channel::Got Channel::receive(Message& message) {
  if (!open()) return Got::closed;
  while (trouble_ == nullptr) {
    const Got got = parse(message);
    if (got != Got::nothing) return got;
    const bool has_begun = !expect_preamble_ && (header_ || unparsed() != 0);
    if (has_begun && !begun_ns_) begun_ns_ = heard_ns_;
    if (!fill()) return ended_ ? Got::closed : Got::nothing;
  }
  return Got::broken;
}

std::optional<std::uint64_t> Channel::silent_at_ns() const {
  if (!open() || !patience_ns_) return std::nullopt;
  const std::uint64_t silent_ns = heard_ns_ + *patience_ns_;
  if (!begun_ns_) return silent_ns;
  const std::uint64_t bytes = header_ ? header_->body_bytes : 0;
  return std::min(silent_ns, *begun_ns_ + *patience_ns_ + bytes / slowest_bytes_per_ms * 1'000'000);
}

void Channel::set_patience_ms(std::int64_t ms) {
  patience_ns_.reset();
  if (ms > 0) patience_ns_ = static_cast<std::uint64_t>(ms) * 1'000'000;
}

}  // namespace musubi::launch
