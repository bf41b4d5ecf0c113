#include "launch/local/rank_link.h"

#include <cerrno>
#include <string_view>
#include <utility>

namespace musubi::launch {

using namespace bootstrap::local;

void RankLink::close() {
  socket_.close();
  reply_ = nullptr;
}

Received RankLink::receive(Frame& frame) {
  return receive_frame(socket_.number(), true, frame);
}

void RankLink::welcome(const Welcome& welcome) {
  if (open()) send_frame(socket_.number(), FrameKind::welcome, 0, 0, format_welcome(welcome), true);
}

void RankLink::send(FrameKind kind) {
  if (open()) send_frame(socket_.number(), kind, 0, 0, {}, true);
}

void RankLink::reply(std::shared_ptr<const std::string> blobs) {
  reply_ = std::move(blobs);
  reply_sent_ = 0;
}

bool RankLink::send_more() {
  if (!open() || reply_ == nullptr) return false;
  const std::string_view text = *reply_;
  do {
    const std::string_view piece = text.substr(reply_sent_, frame_body_bytes_max);
    const int failure = send_frame(socket_.number(), FrameKind::gathered, 0, text.size(), piece, true);
    if (failure == EAGAIN || failure == EWOULDBLOCK) return true;
    if (failure != 0) break;  // the rank is dead, or about to be
    reply_sent_ += piece.size();
  } while (reply_sent_ < text.size());
  reply_ = nullptr;
  return false;
}

}  // namespace musubi::launch
