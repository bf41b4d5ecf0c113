// The launcher's end of a rank's socket: receives frames, and sends the reply to an all-gather in pieces, as
// fast as the rank takes them. Never blocks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "bootstrap/local/frame.h"
#include "bootstrap/local/invitation.h"
#include "launch/launch_plan.h"
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

// The launcher's side of an all-gather: collects one blob of each rank of a host. No I/O.
class GatherRound {
 public:
  explicit GatherRound(RankRange ranks);

  // False if the frame violates the protocol (a second blob in one round, a piece that does not fit).
  [[nodiscard]] bool add(Rank rank, const bootstrap::local::Frame& frame);
  // After all ranks have passed their blobs: returns them as one text (frame.h) and starts the next round.
  // Otherwise null.
  std::shared_ptr<const std::string> take_result();

 private:
  const RankRange ranks_;
  std::vector<bootstrap::local::BlobAssembler> blobs_;
  std::vector<bool> given_;
  std::uint32_t missing_;
};

}  // namespace musubi::launch
