#include "sync/barrier.h"

#include <bit>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/event.h"
#include "coherence/core/block_words.h"
#include "coherence/core/signature.h"
#include "coherence/regions.h"
#include "fabric/transfer.h"

namespace musubi::sync {
namespace {

using coherence::Notice;
using coherence::Signature;
using coherence::SignatureView;

struct Header {
  std::uint64_t epoch;
  std::uint32_t round;
  std::uint16_t has_payload;
  std::uint16_t complete;      // on all ranks that this one has heard of
  std::uint64_t notice_count;  // more than fit into the message: they lie on the sender's board
  LogicalTime minimum;
  Barrier::Payload payload;
};
constexpr std::size_t inline_notices_max = (fabric::message_bytes_max - sizeof(Header)) / sizeof(Notice);

struct Message {
  Header header;
  Notice notices[inline_notices_max];
};
static_assert(sizeof(Message) <= fabric::message_bytes_max);

// What has arrived for one round. Two barriers can be under way at once (a fast peer is one ahead), never
// three: a peer enters barrier n+2 only after everybody has entered n+1, and so has left n.
struct Inbox {
  Message message;
  Event arrived;
};

class Collect final : public coherence::SignatureSink {
 public:
  explicit Collect(Signature& target) : target_(target) {}
  void take(SignatureView signature) noexcept override {
    if (!signature.empty()) target_.add_all(signature);
  }

 private:
  Signature& target_;
};

// What a passage must wait for before it can go on.
enum class Need : std::uint8_t { nothing, release, room, message, notices, acquire };

unsigned rounds_for(std::uint32_t ranks) {
  return static_cast<unsigned>(std::bit_width(ranks - 1));
}

// Ranks of the same job all find the same, since nearness parts them into groups.
bool all_are_near(const fabric::Fabric& fabric) {
  for (std::uint32_t rank = 0; rank < fabric.ranks(); ++rank) {
    if (!fabric.capabilities(Rank{rank}).local_pointer) return false;
  }
  return true;
}

}  // namespace

struct Barrier::Parts {
  fabric::Fabric& fabric;
  coherence::Protocol& protocol;
  trace::Counters& counters;
  std::byte* board;
  std::uint64_t board_offset;
  std::size_t notices_max;
  unsigned rounds;
  bool direct;  // peers write into each other's slots; a message only where one is asked for
  std::vector<std::byte> gathered_memory;
  Signature gathered;
  std::vector<Inbox> inboxes;  // [parity of the epoch][round]
  std::vector<Notice> received;
  std::uint64_t epoch = 1;         // of the barrier that is under way, or of the next one
  std::uint64_t mark_before = 0;   // of the own signature, at the barrier before
  std::vector<std::byte*> boards;  // of the receivers, by round; null: not asked for yet
  ReleaseListener* listener = nullptr;

  // A rank's board: a slot for each [parity of the epoch][round]. Without direct access it is the sender's,
  // and holds no more than the notices.
  std::size_t slot_offset(std::uint32_t round) const {
    return ((epoch & 1) * rounds + round) * BarrierSlot::bytes(notices_max);
  }
  BarrierSlot slot_of_receiver(std::uint32_t round) {
    std::byte*& of_receiver = boards[round];
    if (of_receiver == nullptr) {
      of_receiver = fabric.direct(receiver(round), coherence::control_region) + board_offset;
    }
    return BarrierSlot(of_receiver + slot_offset(round));
  }
  Inbox& inbox(std::uint64_t of_epoch, std::uint32_t round) {
    return inboxes[(of_epoch & 1) * rounds + round];
  }
  Rank receiver(unsigned round) const { return Rank{(fabric.self().value + (1u << round)) % fabric.ranks()}; }
  Rank sender(unsigned round) const {
    return Rank{(fabric.self().value + fabric.ranks() - (1u << round)) % fabric.ranks()};
  }

  static coherence::Audience audience_of(const Passage& passage) {
    return passage.complete_ ? coherence::Audience::everyone : coherence::Audience::all_ranks_soon;
  }
  Need advance(Passage& passage);
  void begin(Passage& passage);
  void end(Passage& passage);
  void prepare_next();
  bool send(Passage& passage);
  bool send_message(const Passage& passage);
  bool write_to_peer(Passage& passage);
  Need receive(Passage& passage);
  Need look_into_slot(Passage& passage);
  Need look_into_inbox(Passage& passage);
  void take(Passage& passage, const Round& round);
  Task<> get_notices(unsigned round);
};

std::size_t Barrier::board_bytes(std::uint32_t ranks, std::size_t notices_max) {
  return 2 * rounds_for(ranks) * BarrierSlot::bytes(notices_max);
}

Barrier::Barrier(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters,
                 std::byte* board, std::uint64_t board_offset, std::size_t notices_max) {
  const unsigned rounds = rounds_for(fabric.ranks());
  std::vector<std::byte> memory(coherence::signature_bytes(notices_max));
  std::byte* gathered_board = memory.data();
  parts_.reset(new Parts{fabric, protocol, counters, board, board_offset, notices_max, rounds,
                         all_are_near(fabric), std::move(memory),
                         Signature(gathered_board, notices_max, true), std::vector<Inbox>(2 * rounds),
                         std::vector<Notice>(notices_max), 1, 0, std::vector<std::byte*>(rounds), nullptr});
  fabric.listen(fabric::MessageKind::barrier, this);
}
Barrier::~Barrier() = default;

void Barrier::set_release_listener(ReleaseListener* listener) {
  parts_->listener = listener;
}

void Barrier::on_message(Rank, std::span<const std::byte> body) noexcept {
  Header header;
  MUSUBI_CHECK(body.size() >= sizeof header);
  std::memcpy(&header, body.data(), sizeof header);
  MUSUBI_CHECK(header.round < parts_->rounds);
  Inbox& inbox = parts_->inbox(header.epoch, header.round);
  MUSUBI_CHECK(!inbox.arrived.is_set(), "two barriers ahead");
  std::memcpy(&inbox.message, body.data(), body.size());
  inbox.arrived.set();
}

void Barrier::Parts::begin(Passage& passage) {
  passage.stage_ = Passage::Stage::exchange;
  if (listener != nullptr) listener->on_released();
  counters.add(trace::Counter::barriers);
  Collect collect(gathered);
  passage.given_ = protocol.signature(collect);
  passage.gave_nothing_ = gathered.view().empty();
  passage.has_payload_ = fabric.self() == Rank{0};
}

// What was gathered leaves the own signature when every thread that might take it from there has it already.
// If all threads of the job wait here, that is now. A thread that does not may read the signature of a rank
// that has left while its own rank is still acquiring: then it is at the next barrier, which everybody enters
// only after he has acquired all of this one.
void Barrier::Parts::end(Passage& passage) {
  passage.stage_ = Passage::Stage::passed;
  if (!passage.gave_nothing_) protocol.forget(passage.complete_ ? passage.given_ : mark_before);
  mark_before = passage.given_;
  prepare_next();
}

// The slots that the next barrier fills are not looked at by anybody before it: while the program works their
// lines can already come here.
void Barrier::Parts::prepare_next() {
  if (!gathered.view().empty()) gathered.clear();
  ++epoch;
  if (!direct) return;
  for (unsigned round = 0; round < rounds; ++round) slot_of_receiver(round).prefetch();
}

Need Barrier::Parts::advance(Passage& passage) {
  using Stage = Passage::Stage;
  if (passage.stage_ == Stage::arrived) {
    if (!protocol.release_at_once(passage.quiescent_)) return Need::release;
    begin(passage);
  }
  while (passage.stage_ == Stage::exchange) {
    if (passage.round_ == rounds) {
      passage.stage_ = Stage::gathered;
      break;
    }
    if (!send(passage)) return Need::room;
    if (const Need need = receive(passage); need != Need::nothing) return need;
    passage.sent_ = passage.written_ = passage.message_due_ = passage.has_notices_ = false;
    ++passage.round_;
  }
  if (passage.stage_ == Stage::gathered) {
    if (!protocol.acquire_at_once(gathered.view(), audience_of(passage))) return Need::acquire;
    end(passage);
  }
  return Need::nothing;
}

// Result: false when the mailbox of the peer is full.
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
      .fill(epoch, {gathered.view(), passage.has_payload_ ? &passage.payload_ : nullptr, passage.complete_});
}

bool Barrier::Parts::send_message(const Passage& passage) {
  const SignatureView view = gathered.view();
  Message message;
  message.header = Header{epoch,
                          passage.round_,
                          passage.has_payload_,
                          passage.complete_,
                          direct ? 0 : view.notices.size(),
                          view.minimum,
                          passage.payload_};
  std::size_t bytes = sizeof(Header);
  if (!direct && view.notices.size() <= inline_notices_max) {
    std::memcpy(message.notices, view.notices.data(), view.notices.size_bytes());
    bytes += view.notices.size_bytes();
  } else if (!direct) {
    std::memcpy(board + slot_offset(passage.round_), view.notices.data(), view.notices.size_bytes());
  }
  return fabric.send(receiver(passage.round_), fabric::MessageKind::barrier, fabric::Urgency::when_polled,
                     std::as_bytes(std::span{&message, 1}).first(bytes)) == fabric::Outcome::done;
}

Need Barrier::Parts::receive(Passage& passage) {
  return direct ? look_into_slot(passage) : look_into_inbox(passage);
}

Need Barrier::Parts::look_into_slot(Passage& passage) {
  BarrierSlot slot(board + slot_offset(passage.round_));
  Inbox& inbox = this->inbox(epoch, passage.round_);
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

Need Barrier::Parts::look_into_inbox(Passage& passage) {
  Inbox& inbox = this->inbox(epoch, passage.round_);
  if (!inbox.arrived.is_set()) return Need::message;
  const Header& header = inbox.message.header;
  MUSUBI_CHECK(header.epoch == epoch && header.notice_count <= notices_max);
  const auto count = static_cast<std::size_t>(header.notice_count);
  if (count > inline_notices_max && !passage.has_notices_) return Need::notices;
  const Notice* notices = count <= inline_notices_max ? inbox.message.notices : received.data();
  take(passage, {{header.minimum, {notices, count}},
                 header.has_payload ? &header.payload : nullptr,
                 header.complete != 0});
  inbox.arrived.reset();
  return Need::nothing;
}

void Barrier::Parts::take(Passage& passage, const Round& round) {
  if (round.payload != nullptr && !passage.has_payload_) {
    passage.payload_ = *round.payload;
    passage.has_payload_ = true;
  }
  passage.complete_ = passage.complete_ && round.complete;
  if (!round.signature.empty()) gathered.add_all(round.signature);
}

Task<> Barrier::Parts::get_notices(unsigned round) {
  const Header& header = inbox(epoch, round).message.header;
  std::array<fabric::Step, 1> step{fabric::get(coherence::control_region, board_offset + slot_offset(round),
                                               received.data(), header.notice_count * sizeof(Notice))};
  co_await fabric::transfer(fabric, sender(round), step);
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
        co_await p.protocol.release(passage.quiescent_);
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
        co_await p.protocol.acquire(p.gathered.view(), Parts::audience_of(passage));
        p.end(passage);
        break;
    }
  }
}

Task<> Barrier::arrive(Payload& payload, bool quiescent, bool complete) {
  Passage passage(payload, quiescent, complete);
  co_await finish(passage);
}

}  // namespace musubi::sync
