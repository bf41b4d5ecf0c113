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
  BarrierMessage message;
  message.header = BarrierHeader{epoch,
                                 passage.round_,
                                 passage.has_payload_,
                                 passage.complete_,
                                 direct ? 0 : view.notices.size(),
                                 view.minimum,
                                 passage.payload_};
  std::size_t bytes = sizeof(BarrierHeader);
  if (!direct && view.notices.size() <= inline_notices_max) {
    std::memcpy(message.notices, view.notices.data(), view.notices.size_bytes());
    bytes += view.notices.size_bytes();
  } else if (!direct) {
    std::memcpy(board + slot_offset(passage.round_), view.notices.data(), view.notices.size_bytes());
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
  if (count > inline_notices_max && !passage.has_notices_) return BarrierNeed::notices;
  const Notice* notices = count <= inline_notices_max ? inbox.message.notices : received.data();
  take(passage, {{header.minimum, {notices, count}},
                 header.has_payload ? &header.payload : nullptr,
                 header.complete != 0});
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
