#include "fabric/handshake/complaints.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/clock.h"

namespace musubi::fabric::handshake {
namespace {

constexpr std::uint64_t quiet_min_ns = 1'000'000'000, quiet_max_ns = 64'000'000'000;

}  // namespace

// Truncates text that does not fit.
class Complaints::Line {
 public:
  Line& operator<<(std::string_view text) noexcept {
    const std::size_t taken = std::min(text.size(), buffer_.size() - length_);
    std::memcpy(buffer_.data() + length_, text.data(), taken);
    length_ += taken;
    return *this;
  }
  Line& operator<<(std::uint64_t number) noexcept {
    char digits[20];
    char* first = digits + sizeof digits;
    do {
      *--first = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    return *this << std::string_view(first, static_cast<std::size_t>(digits + sizeof digits - first));
  }
  Line& operator<<(const os::SocketAddress& address) noexcept {
    char text[os::SocketAddress::text_bytes_max];
    return *this << std::string_view(text, address.write(text));
  }
  std::string_view text() const noexcept { return {buffer_.data(), length_}; }

 private:
  std::array<char, 320> buffer_;
  std::size_t length_ = 0;
};

bool Complaints::may_speak() noexcept {
  if (log_ == nullptr) return false;
  const std::uint64_t now = os::monotonic_ns();
  if (now < quiet_until_ns_) {
    ++left_out_;
    return false;
  }
  const bool was_long_ago = now - quiet_until_ns_ > quiet_max_ns;
  quiet_ns_ = was_long_ago ? quiet_min_ns : std::min(2 * quiet_ns_, quiet_max_ns);
  quiet_until_ns_ = now + quiet_ns_;
  return true;
}

void Complaints::say(Line& line) noexcept {
  if (left_out_ != 0) line << " (and " << left_out_ << " more before)";
  left_out_ = 0;
  log_->say(line.text());
}

void Complaints::refused(const os::SocketAddress& from, const char* reason) noexcept {
  if (!may_speak()) return;
  Line line;
  line << "refused a connection from " << from << ": " << reason;
  say(line);
}

void Complaints::no_socket(const char* what, int error) noexcept {
  if (!may_speak()) return;
  Line line;
  line << "cannot " << what << " a connection: ";
  if (error == EMFILE) {
    line << "this process has reached its limit of " << os::limit_of_open_files()
         << " open files; raise it (ulimit -n)";
  } else if (error == ENFILE) {
    line << "the system has reached its limit of open files; raise it (sysctl fs.file-max)";
  } else {
    line << "the kernel has no memory for it";
  }
  say(line);
}

void Complaints::refused_message(std::string_view network, const char* reason) noexcept {
  if (!may_speak()) return;
  Line line;
  line << "refused a message by " << network << ": " << reason;
  say(line);
}

}  // namespace musubi::fabric::handshake
