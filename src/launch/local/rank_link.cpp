#include "launch/local/rank_link.h"

#include <cerrno>
#include <string_view>
#include <utility>

#include "bootstrap/bootstrap.h"
#include "bootstrap/local/frame.h"

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

using namespace bootstrap::local;

GatherRound::GatherRound(RankRange ranks)
    : ranks_(ranks),
      blobs_(ranks.count, BlobAssembler(bootstrap::blob_bytes_max)),
      given_(ranks.count, false),
      missing_(ranks.count) {}

bool GatherRound::add(Rank rank, const Frame& frame) {
  const std::uint32_t index = ranks_.index(rank);
  if (given_[index] || !blobs_[index].add(frame)) return false;
  if (blobs_[index].complete()) {
    given_[index] = true;
    --missing_;
  }
  return true;
}

std::shared_ptr<const std::string> GatherRound::take_result() {
  if (missing_ > 0) return nullptr;
  auto text = std::make_shared<std::string>();
  for (BlobAssembler& assembler : blobs_) append_gathered(*text, assembler.take());
  given_.assign(given_.size(), false);
  missing_ = static_cast<std::uint32_t>(given_.size());
  return text;
}

}  // namespace musubi::launch
