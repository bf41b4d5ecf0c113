// Internals of Barrier, for its source files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/check.h"
#include "base/event.h"
#include "coherence/core/block_words.h"
#include "coherence/core/packed_notice.h"
#include "coherence/core/parameters.h"
#include "coherence/core/signature.h"
#include "coherence/regions.h"
#include "sync/barrier.h"

namespace musubi::sync {

using coherence::Notice;
using coherence::Signature;
using coherence::SignatureView;

// Header of a message between two ranks in one round.
struct BarrierHeader {
  std::uint64_t epoch;
  std::uint32_t round;
  std::uint8_t has_payload;
  std::uint8_t complete;          // on all ranks that this one has heard from
  std::uint8_t others_quiescent;  // all of these but rank 0 are quiescent
  std::uint8_t on_board;          // the notices exceed the message: they are on the sender's board
  std::uint64_t notice_count;
  LogicalTime minimum;
  LogicalTime base;  // of the packed notices
  Barrier::Payload payload;
};
inline constexpr std::size_t packed_notices_max =
    (fabric::message_bytes_max - sizeof(BarrierHeader)) / sizeof(coherence::PackedNotice);

struct BarrierMessage {
  BarrierHeader header;
  coherence::PackedNotice notices[packed_notices_max];
};
static_assert(sizeof(BarrierMessage) <= fabric::message_bytes_max);
// As many as a signature holds in a large job, over any network.
static_assert(coherence::signature_notices_for(UINT32_MAX, UINT64_MAX) <= packed_notices_max);

// The notices and marks that have arrived for one round. Two barriers can be in progress at once (a fast peer
// is one ahead), never three: a peer enters barrier n+2 only after all ranks have entered n+1 and so have
// left n.
struct BarrierInbox {
  BarrierMessage message;
  Event arrived;
  std::uint64_t next_epoch = 0;  // of the next message; set by the delivering thread
};

// The condition that a passage must wait for.
enum class BarrierNeed : std::uint8_t { nothing, release, room, message, notices, acquire };

struct Barrier::Parts {
  fabric::Fabric& fabric;
  coherence::Protocol& protocol;
  trace::Counters& counters;
  std::byte* board;
  std::uint64_t board_offset;
  std::size_t notices_max;
  std::uint64_t blocks_max;
  unsigned rounds;
  bool direct;  // peers write into each other's slots, and send a message only on request
  std::vector<std::byte> gathered_memory;
  Signature gathered;
  std::vector<BarrierInbox> inboxes;  // [parity of the epoch][round]
  std::vector<Notice> received;
  std::uint64_t epoch = 1;         // of the barrier in progress, or of the next one
  std::uint64_t mark_before = 0;   // of the own signature, at the previous barrier
  std::vector<std::byte*> boards;  // of the receivers, by round; null: not yet asked for
  ReleaseListener* listener = nullptr;

  // A rank's board: a slot for each [parity of the epoch][round]. Without direct access it is the sender's,
  // and holds only the notices.
  std::size_t slot_offset(std::uint32_t round) const {
    MUSUBI_CHECK(round < rounds);
    return ((epoch & 1) * rounds + round) * BarrierSlot::bytes(notices_max);
  }
  BarrierSlot slot_of_receiver(std::uint32_t round) {
    MUSUBI_CHECK(direct && round < rounds);
    std::byte*& of_receiver = boards[round];
    if (of_receiver == nullptr) {
      std::byte* const region = fabric.direct(receiver(round), coherence::control_region);
      MUSUBI_CHECK(region != nullptr, "rank %u is not near", receiver(round).value);
      of_receiver = region + board_offset;
    }
    return BarrierSlot(of_receiver + slot_offset(round));
  }
  BarrierInbox& inbox(std::uint64_t of_epoch, std::uint32_t round) {
    MUSUBI_CHECK(round < rounds);
    return inboxes[(of_epoch & 1) * rounds + round];
  }
  Rank receiver(unsigned round) const {
    MUSUBI_CHECK(round < rounds);
    return Rank{(fabric.self().value + (1u << round)) % fabric.ranks()};
  }
  Rank sender(unsigned round) const {
    MUSUBI_CHECK(round < rounds);
    return Rank{(fabric.self().value + fabric.ranks() - (1u << round)) % fabric.ranks()};
  }

  static coherence::Audience audience_of(const Passage& passage) {
    return passage.complete_ ? coherence::Audience::everyone : coherence::Audience::all_ranks_soon;
  }
  BarrierNeed advance(Passage& passage);
  void begin(Passage& passage);
  void end(Passage& passage);
  void prepare_next();
  bool send(Passage& passage);
  bool send_message(const Passage& passage);
  bool write_to_peer(Passage& passage);
  BarrierNeed receive(Passage& passage);
  BarrierNeed look_into_slot(Passage& passage);
  BarrierNeed look_into_inbox(Passage& passage);
  void take(Passage& passage, const Round& round);
  bool is_damaged(const BarrierHeader& header, std::span<const std::byte> notices) const;
  Task<> get_notices(unsigned round);
};

}  // namespace musubi::sync
