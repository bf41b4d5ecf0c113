// The exchange of a barrier by messages: where ranks cannot write into each other's memory, and to wake a
// peer that sleeps.
#include <array>
#include <cstring>

#include "base/check.h"
#include "fabric/transfer.h"
#include "sync/barrier_parts.h"

namespace musubi::sync {

void Barrier::on_message(Rank, std::span<const std::byte> body) noexcept {
  BarrierHeader header;
  MUSUBI_CHECK(body.size() >= sizeof header);
  std::memcpy(&header, body.data(), sizeof header);
  MUSUBI_CHECK(header.round < parts_->rounds);
  BarrierInbox& inbox = parts_->inbox(header.epoch, header.round);
  MUSUBI_CHECK(!inbox.arrived.is_set(), "two barriers ahead");
  std::memcpy(&inbox.message, body.data(), body.size());
  inbox.arrived.set();
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
  MUSUBI_CHECK(header.epoch == epoch && header.notice_count <= notices_max);
  const auto count = static_cast<std::size_t>(header.notice_count);
  if (header.on_board != 0 && !passage.has_notices_) return BarrierNeed::notices;
  if (header.on_board == 0) {
    MUSUBI_CHECK(count <= packed_notices_max);
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
