#include "sync/barrier.h"

#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "fabric/fabric.h"
#include "fabric/transfer.h"
#include "sync/barrier_parts.h"

namespace musubi::sync {
namespace {

using Need = BarrierNeed;

class Collect final : public coherence::SignatureSink {
 public:
  explicit Collect(Signature& target) : target_(target) {}
  void take(SignatureView signature) noexcept override {
    if (!signature.empty()) target_.add_all(signature);
  }

 private:
  Signature& target_;
};

unsigned rounds_for(std::uint32_t ranks) {
  return static_cast<unsigned>(std::bit_width(ranks - 1));
}

// Whether this rank maps the memory of all other ranks. The same result at all ranks of a job, since nearness
// divides them into groups. REQUIRES: the fabric is open.
bool all_are_near(const fabric::Fabric& fabric) {
  for (std::uint32_t rank = 0; rank < fabric.ranks(); ++rank) {
    if (Rank{rank} != fabric.self() && !fabric.capabilities(Rank{rank}).local_pointer) return false;
  }
  return true;
}

}  // namespace

std::size_t Barrier::board_bytes(std::uint32_t ranks, std::size_t notices_max) {
  return 2 * rounds_for(ranks) * BarrierSlot::bytes(notices_max);
}

Barrier::Barrier(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters,
                 std::byte* board, std::uint64_t board_offset, std::size_t notices_max,
                 std::uint64_t blocks_max) {
  const unsigned rounds = rounds_for(fabric.ranks());
  std::vector<std::byte> memory(coherence::signature_bytes(notices_max));
  std::byte* gathered_board = memory.data();
  parts_.reset(new Parts{fabric, protocol, counters, board, board_offset, notices_max, blocks_max, rounds,
                         all_are_near(fabric), std::move(memory), Signature(gathered_board, notices_max),
                         std::vector<BarrierInbox>(2 * rounds), std::vector<Notice>(notices_max), 1, 0,
                         std::vector<std::byte*>(rounds), nullptr});
  for (unsigned round = 0; round < rounds; ++round) {
    parts_->inbox(1, round).next_epoch = 1;
    parts_->inbox(2, round).next_epoch = 2;
  }
  fabric.listen(fabric::MessageKind::barrier, this);
}
Barrier::~Barrier() = default;

void Barrier::set_release_listener(ReleaseListener* listener) {
  parts_->listener = listener;
}

void Barrier::Parts::begin(Passage& passage) {
  MUSUBI_CHECK(passage.stage_ == Passage::Stage::arrived);
  passage.stage_ = Passage::Stage::exchange;
  passage.has_payload_ = fabric.self() == Rank{0};
  passage.others_quiescent_ = passage.quiescent_ || fabric.self() == Rank{0};
  fabric.begin_polling();
  if (passage.last_) return;
  if (listener != nullptr) listener->on_released();
  counters.add(trace::Counter::barriers);
  Collect collect(gathered);
  passage.given_ = protocol.signature(collect);
  passage.gave_nothing_ = gathered.view().empty();
}

// Gathered notices leave the own signature once every thread that might fetch them from there already has
// them. If all threads of the job wait here, that is now. A thread that does not wait here may read the
// signature of a rank that has left, while its own rank is still acquiring. Then the notices leave at the
// next barrier: a rank enters it only after it has acquired everything of this one.
void Barrier::Parts::end(Passage& passage) {
  MUSUBI_CHECK(passage.stage_ == Passage::Stage::gathered);
  passage.stage_ = Passage::Stage::passed;
  if (!passage.gave_nothing_) protocol.forget(passage.complete_ ? passage.given_ : mark_before);
  mark_before = passage.given_;
  prepare_next();
}

// No rank reads the slots of the next barrier before that barrier: their lines can move here while the
// program works.
void Barrier::Parts::prepare_next() {
  if (!gathered.view().empty()) gathered.clear();
  ++epoch;
  if (!direct) return;
  for (unsigned round = 0; round < rounds; ++round) slot_of_receiver(round).prefetch();
}

Need Barrier::Parts::advance(Passage& passage) {
  using Stage = Passage::Stage;
  if (passage.stage_ == Stage::arrived) {
    if (!passage.last_ && !protocol.release_at_once(passage.quiescent_)) return Need::release;
    begin(passage);
  }
  while (passage.stage_ == Stage::exchange) {
    if (passage.round_ == rounds) {
      passage.stage_ = Stage::gathered;
      fabric.end_polling();
      break;
    }
    if (!send(passage)) return Need::room;
    if (const Need need = receive(passage); need != Need::nothing) return need;
    passage.sent_ = passage.written_ = passage.message_due_ = passage.has_notices_ = false;
    ++passage.round_;
  }
  if (passage.stage_ == Stage::gathered) {
    const coherence::Audience audience = audience_of(passage);
    if (!passage.last_ && !protocol.acquire_at_once(gathered.view(), audience)) return Need::acquire;
    end(passage);
  }
  return Need::nothing;
}

// Result: false if the peer's mailbox is full.
bool Barrier::Parts::send(Passage& passage) {
  if (passage.sent_) return true;
  if (!direct || write_to_peer(passage)) {
    if (!send_message(passage)) return false;
    if (direct) counters.add(trace::Counter::asked_messages);
  }
  passage.sent_ = true;
  return true;
}

// Result: whether the peer wants a message.
bool Barrier::Parts::write_to_peer(Passage& passage) {
  if (passage.written_) return true;
  passage.written_ = true;
  counters.add(trace::Counter::messages);
  return slot_of_receiver(passage.round_)
      .fill(epoch, {gathered.view(), passage.has_payload_ ? &passage.payload_ : nullptr, passage.complete_,
                    passage.others_quiescent_});
}

Need Barrier::Parts::receive(Passage& passage) {
  return direct ? look_into_slot(passage) : look_into_inbox(passage);
}

Need Barrier::Parts::look_into_slot(Passage& passage) {
  BarrierSlot slot(board + slot_offset(passage.round_));
  BarrierInbox& inbox = this->inbox(epoch, passage.round_);
  if (passage.message_due_) {
    if (!inbox.arrived.is_set()) return Need::message;
    inbox.arrived.reset();
  } else {
    const std::uint64_t seen = slot.mark().load(std::memory_order_acquire);
    if (!BarrierSlot::is_filled(seen, epoch) && !fabric.watch(slot.mark(), seen) && slot.ask(seen, epoch)) {
      passage.message_due_ = true;
      return Need::message;
    }
  }
  MUSUBI_CHECK(BarrierSlot::is_filled(slot.mark().load(std::memory_order_acquire), epoch));
  take(passage, slot.read());
  return Need::nothing;
}

void Barrier::Parts::take(Passage& passage, const Round& round) {
  if (round.payload != nullptr && !passage.has_payload_) {
    passage.payload_ = *round.payload;
    passage.has_payload_ = true;
  }
  passage.complete_ = passage.complete_ && round.complete;
  passage.others_quiescent_ = passage.others_quiescent_ && round.others_quiescent;
  if (!round.signature.empty()) gathered.add_all(round.signature);
}

bool Barrier::pass(Passage& passage) {
  return parts_->advance(passage) == Need::nothing;
}

Task<> Barrier::finish(Passage& passage) {
  Parts& p = *parts_;
  for (unsigned attempt = 0;;) {
    switch (p.advance(passage)) {
      case Need::nothing:
        co_return;
      case Need::release:
        co_await p.protocol.release(coherence::Scope::of_barrier(), passage.quiescent_);
        p.begin(passage);
        break;
      case Need::room:
        co_await pause(attempt);
        ++attempt;
        break;
      case Need::message:
        co_await p.inbox(p.epoch, passage.round_).arrived;
        break;
      case Need::notices:
        co_await p.get_notices(passage.round_);
        passage.has_notices_ = true;
        break;
      case Need::acquire:
        co_await p.protocol.acquire(p.gathered.view(), Parts::audience_of(passage),
                                    coherence::Scope::of_barrier());
        p.end(passage);
        break;
    }
  }
}

Task<> Barrier::arrive(Payload& payload, bool quiescent, bool complete) {
  Passage passage(payload, quiescent, complete);
  co_await finish(passage);
}

// The exchange by messages: for ranks that cannot write into each other's memory, and to wake a sleeping
// peer.
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
  MUSUBI_CHECK(notices.size() <= notices_max);
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
  MUSUBI_CHECK(header.notice_count <= received.size());
  std::array<fabric::Step, 1> step{fabric::get(coherence::control_region, board_offset + slot_offset(round),
                                               received.data(), header.notice_count * sizeof(Notice))};
  co_await fabric::transfer(fabric, sender(round), step);
}

}  // namespace musubi::sync
