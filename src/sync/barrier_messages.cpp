// A barrier's exchange by messages, for ranks that cannot write into each other's memory, and to wake a
// sleeping peer.
#include <array>
#include <cstring>

#include "fabric/transfer.h"
#include "sync/barrier_parts.h"

namespace musubi::sync {

const char* Barrier::on_message(Rank from, std::span<const std::byte> body) noexcept {
  constexpr const char* damaged = "its message of a barrier is damaged";
  BarrierHeader header;
  if (body.size() < sizeof header) return damaged;
  std::memcpy(&header, body.data(), sizeof header);
  if (header.round >= parts_->rounds || from != parts_->sender(header.round)) return damaged;
  if (parts_->is_damaged(header, body.subspan(sizeof header))) return damaged;
  BarrierInbox& inbox = parts_->inbox(header.epoch, header.round);
  // If peers write into slots, a barrier may need no message.
  const bool is_next = parts_->direct ? header.epoch >= inbox.next_epoch : header.epoch == inbox.next_epoch;
  if (!is_next || inbox.arrived.is_set()) return "its message is of another barrier";
  inbox.next_epoch = header.epoch + 2;
  std::memcpy(&inbox.message, body.data(), body.size());
  inbox.arrived.set();
  return nullptr;
}

bool Barrier::Parts::is_damaged(const BarrierHeader& header, std::span<const std::byte> notices) const {
  if (header.has_payload > 1 || header.complete > 1 || header.others_quiescent > 1) return true;
  if (header.notice_count > notices_max) return true;
  if (header.on_board == 1) return !notices.empty();
  if (header.on_board != 0 || header.notice_count > packed_notices_max) return true;
  if (notices.size() != header.notice_count * sizeof(coherence::PackedNotice)) return true;
  for (; !notices.empty(); notices = notices.subspan(sizeof(coherence::PackedNotice))) {
    coherence::PackedNotice packed;
    std::memcpy(&packed, notices.data(), sizeof packed);
    const Notice notice = coherence::unpack(packed, header.base);
    if (notice.block.value >= blocks_max || notice.writer.value >= fabric.ranks()) return true;
  }
  return false;
}

bool Barrier::Parts::send_message(const Passage& passage) {
  const SignatureView view = gathered.view();
  const std::span<const Notice> notices = direct ? std::span<const Notice>{} : view.notices;
  BarrierMessage message;
  message.header = BarrierHeader{
      epoch, passage.round_, passage.has_payload_, passage.complete_,           passage.others_quiescent_,
      0,     notices.size(), view.minimum,         coherence::base_of(notices), passage.payload_};
  std::size_t bytes = sizeof(BarrierHeader);
  if (coherence::pack(notices, message.header.base, message.notices)) {
    bytes += notices.size() * sizeof(coherence::PackedNotice);
  } else {
    message.header.on_board = 1;
    std::memcpy(board + slot_offset(passage.round_), notices.data(), notices.size_bytes());
  }
  return fabric.send(receiver(passage.round_), fabric::MessageKind::barrier, fabric::Urgency::when_polled,
                     std::as_bytes(std::span{&message, 1}).first(bytes)) == fabric::Outcome::done;
}

BarrierNeed Barrier::Parts::look_into_inbox(Passage& passage) {
  BarrierInbox& inbox = this->inbox(epoch, passage.round_);
  if (!inbox.arrived.is_set()) return BarrierNeed::message;
  const BarrierHeader& header = inbox.message.header;
  const auto count = static_cast<std::size_t>(header.notice_count);
  if (header.on_board != 0 && !passage.has_notices_) return BarrierNeed::notices;
  if (header.on_board == 0) {
    for (std::size_t i = 0; i < count; ++i) {
      received[i] = coherence::unpack(inbox.message.notices[i], header.base);
    }
  }
  take(passage, {{header.minimum, {received.data(), count}},
                 header.has_payload ? &header.payload : nullptr,
                 header.complete != 0,
                 header.others_quiescent != 0});
  inbox.arrived.reset();
  return BarrierNeed::nothing;
}

Task<> Barrier::Parts::get_notices(unsigned round) {
  const BarrierHeader& header = inbox(epoch, round).message.header;
  std::array<fabric::Step, 1> step{fabric::get(coherence::control_region, board_offset + slot_offset(round),
                                               received.data(), header.notice_count * sizeof(Notice))};
  co_await fabric::transfer(fabric, sender(round), step);
}

}  // namespace musubi::sync
