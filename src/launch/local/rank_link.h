// The launcher's end of a rank's socket: receives frames, and sends the reply to an all-gather in pieces, as
// fast as the rank takes them. Never blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "bootstrap/local/frame.h"
#include "bootstrap/local/welcome.h"
#include "os/memory.h"

namespace musubi::launch {

class RankLink {
 public:
  RankLink() = default;
  explicit RankLink(os::FileDescriptor socket) : socket_(std::move(socket)) {}

  bool open() const { return socket_.number() >= 0; }
  int descriptor() const { return socket_.number(); }
  void close();

  // REQUIRES: open().
  bootstrap::local::Received receive(bootstrap::local::Frame& frame);
  // Sends the first frame, which the rank reads when it joins.
  void welcome(const bootstrap::local::Welcome& welcome);
  // Sends a frame without a body. It is lost if the rank takes nothing, because it is dead or about to be.
  void send(bootstrap::local::FrameKind kind);

  // Starts to send the blobs of all ranks; send_more() does the rest.
  void reply(std::shared_ptr<const std::string> blobs);
  // Sends as much as the rank takes now. Result: whether something is left, so that the socket must be
  // watched for writability.
  bool send_more();

 private:
  os::FileDescriptor socket_;
  std::shared_ptr<const std::string> reply_;
  std::size_t reply_sent_ = 0;
};

}  // namespace musubi::launch
