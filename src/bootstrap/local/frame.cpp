#include "bootstrap/local/frame.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/check.h"

namespace musubi::bootstrap::local {
namespace {

struct Header {
  std::uint32_t magic;
  std::uint32_t kind;
  std::int32_t status;
  std::uint32_t body_bytes;
  std::uint64_t total_bytes;
};

bool is_valid(const Header& header, std::size_t received) {
  return header.magic == frame_magic && header.kind >= static_cast<std::uint32_t>(FrameKind::join) &&
         header.kind <= static_cast<std::uint32_t>(FrameKind::welcome) &&
         header.body_bytes <= frame_body_bytes_max && received == sizeof header + header.body_bytes;
}

}  // namespace

int send_frame(int socket, FrameKind kind, std::int32_t status, std::uint64_t total_bytes,
               std::string_view body, bool dont_wait) noexcept {
  Header header{frame_magic, static_cast<std::uint32_t>(kind), status,
                static_cast<std::uint32_t>(body.size()), total_bytes};
  iovec parts[2] = {{&header, sizeof header}, {const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  while (::sendmsg(socket, &message, MSG_NOSIGNAL | (dont_wait ? MSG_DONTWAIT : 0)) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

Received receive_frame(int socket, bool dont_wait, Frame& frame) {
  Header header{};
  std::string body(frame_body_bytes_max, '\0');
  iovec parts[2] = {{&header, sizeof header}, {body.data(), body.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  ssize_t received = 0;
  while ((received = ::recvmsg(socket, &message, dont_wait ? MSG_DONTWAIT : 0)) < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Received::nothing;
    if (errno == ECONNRESET) return Received::closed;  // it ended without reading all our frames
    if (errno != EINTR) return Received::broken;
  }
  if (received == 0) return Received::closed;
  const auto bytes = static_cast<std::size_t>(received);
  if ((message.msg_flags & MSG_TRUNC) != 0 || bytes < sizeof header || !is_valid(header, bytes)) {
    return Received::broken;
  }
  body.resize(header.body_bytes);
  frame = Frame{static_cast<FrameKind>(header.kind), header.status, header.total_bytes, std::move(body)};
  return Received::frame;
}

std::optional<FrameKind> receive_kind(int socket) noexcept {
  Header header{};
  if (::recv(socket, &header, sizeof header, MSG_DONTWAIT) != static_cast<ssize_t>(sizeof header)) {
    return std::nullopt;
  }
  return static_cast<FrameKind>(header.kind);
}

bool BlobAssembler::add(const Frame& frame) {
  if (!started_) {
    if (frame.total_bytes > bytes_max_) return false;
    total_bytes_ = frame.total_bytes;
    started_ = true;
  }
  if (complete() && !frame.body.empty()) return false;
  if (frame.total_bytes != total_bytes_ || frame.body.size() > total_bytes_ - blob_.size()) return false;
  if (frame.body.empty() && total_bytes_ != 0) return false;  // would never complete
  blob_ += frame.body;
  return true;
}

std::string BlobAssembler::take() {
  MUSUBI_CHECK(complete());
  started_ = false;
  return std::exchange(blob_, {});
}

std::vector<std::string> split_gathered(std::string_view text, std::uint32_t ranks) {
  std::vector<std::string> blobs;
  while (!text.empty()) {
    std::uint64_t bytes = 0;
    if (text.size() < sizeof bytes) return {};
    std::memcpy(&bytes, text.data(), sizeof bytes);
    text.remove_prefix(sizeof bytes);
    if (bytes > text.size()) return {};
    blobs.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  if (blobs.size() != ranks) return {};
  return blobs;
}

}  // namespace musubi::bootstrap::local
