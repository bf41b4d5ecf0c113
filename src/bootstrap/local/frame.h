// The frames that a rank and its launcher exchange over a socket pair of type SOCK_SEQPACKET: each packet is
// one frame, whole or not at all, so a frame sent from a signal handler never lands inside another.
//
// These sockets need no authentication: they have no name, and only processes that inherit them can reach
// them. The job's secret itself travels through them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace musubi::bootstrap::local {

enum class FrameKind : std::uint32_t {
  join = 1,      // rank: the runtime has started
  gather,        // rank: a piece of its blob
  gathered,      // launcher: a piece of the blobs of all ranks
  finish,        // rank: the program has ended in order with `status`
  abort,         // rank: end the job now as a failure; body: the reason
  crash_cause,   // rank: it dies by a signal; body: one line
  crash_frames,  // rank: after crash_cause; body: addresses of 8 bytes, innermost first
  crash_told,    // launcher: has written both
  welcome,       // launcher: the first frame, sent before the rank is started (invitation.h)
};

inline constexpr std::uint32_t frame_magic = 0x6d757375;
inline constexpr std::size_t frame_body_bytes_max = 32 * 1024;
inline constexpr std::uint64_t gathered_bytes_max = 1ull << 32;  // of the result of one all-gather

struct Frame {
  FrameKind kind = FrameKind::join;
  std::int32_t status = 0;
  std::uint64_t total_bytes = 0;  // of the blob that the body is a piece of
  std::string body;
};

// Sends one frame. Signal-safe. Result: 0 or errno (EAGAIN when it would block and dont_wait is set).
// REQUIRES: body of at most frame_body_bytes_max.
int send_frame(int socket, FrameKind kind, std::int32_t status, std::uint64_t total_bytes,
               std::string_view body, bool dont_wait) noexcept;

enum class Received {
  frame,
  nothing,  // dont_wait only
  closed,   // by the other side
  broken,   // not a frame of this protocol
};
Received receive_frame(int socket, bool dont_wait, Frame& frame);

// Discards the next frame and returns its kind; nothing if there is none. Signal-safe.
std::optional<FrameKind> receive_kind(int socket) noexcept;

// Assembles the pieces of one blob.
class BlobAssembler {
 public:
  explicit BlobAssembler(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}

  // False if the piece does not fit the pieces before it.
  [[nodiscard]] bool add(const Frame& frame);
  bool complete() const { return started_ && blob_.size() == total_bytes_; }
  // Returns the blob and starts the next one. REQUIRES: complete().
  std::string take();

 private:
  std::uint64_t bytes_max_;
  std::uint64_t total_bytes_ = 0;
  bool started_ = false;
  std::string blob_;
};

// The result of an all-gather, as one text: for each rank the length of its blob, then the blob.
inline void append_gathered(std::string& text, std::string_view blob) {
  const std::uint64_t bytes = blob.size();
  text.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  text.append(blob);
}

// Empty if malformed.
std::vector<std::string> split_gathered(std::string_view text, std::uint32_t ranks);

}  // namespace musubi::bootstrap::local
