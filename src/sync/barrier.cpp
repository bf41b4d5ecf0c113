#include "sync/barrier.h"

#include <bit>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "base/event.h"
#include "coherence/core/block_words.h"
#include "coherence/core/signature.h"
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
  void take(SignatureView signature) noexcept override { target_.add_all(signature); }

 private:
  Signature& target_;
};

}  // namespace

struct Barrier::Parts {
  fabric::Fabric& fabric;
  coherence::Protocol& protocol;
  trace::Counters& counters;
  std::byte* board;
  std::uint64_t board_offset;
  std::size_t notices_max;
  unsigned rounds;
  std::vector<std::byte> gathered_memory;
  Signature gathered;
  std::vector<Inbox> inboxes;  // [parity of the epoch][round]
  std::vector<Notice> received;
  std::uint64_t epoch = 0;
  std::uint64_t mark_before = 0;  // of the own signature, at the barrier before

  Inbox& inbox(std::uint64_t of_epoch, std::uint32_t round) {
    return inboxes[(of_epoch & 1) * rounds + round];
  }
  std::size_t page(std::uint64_t of_epoch, std::uint32_t round) const {
    return ((of_epoch & 1) * rounds + round) * notices_max * sizeof(Notice);
  }
  // What gathers in the course of one barrier, besides the signatures.
  struct News {
    bool has_payload;
    bool complete;
  };
  Task<> send_round(unsigned round, News news, const Payload& payload);
  Task<> receive_round(unsigned round, News* news, Payload* payload);
};

namespace {

unsigned rounds_for(std::uint32_t ranks) {
  return static_cast<unsigned>(std::bit_width(ranks - 1));
}

}  // namespace

std::size_t Barrier::board_bytes(std::uint32_t ranks, std::size_t notices_max) {
  return 2 * rounds_for(ranks) * notices_max * sizeof(Notice);
}

Barrier::Barrier(fabric::Fabric& fabric, coherence::Protocol& protocol, trace::Counters& counters,
                 std::byte* board, std::uint64_t board_offset, std::size_t notices_max) {
  const unsigned rounds = rounds_for(fabric.ranks());
  std::vector<std::byte> memory(coherence::signature_bytes(notices_max));
  std::byte* gathered_board = memory.data();
  parts_.reset(new Parts{fabric, protocol, counters, board, board_offset, notices_max, rounds,
                         std::move(memory), Signature(gathered_board, notices_max, true),
                         std::vector<Inbox>(2 * rounds), std::vector<Notice>(notices_max)});
  fabric.listen(fabric::MessageKind::barrier, this);
}
Barrier::~Barrier() = default;

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

Task<> Barrier::Parts::send_round(unsigned round, News news, const Payload& payload) {
  const std::uint32_t ranks = fabric.ranks();
  const Rank to{(fabric.self().value + (1u << round)) % ranks};
  const SignatureView view = gathered.view();
  Message message;
  message.header =
      Header{epoch, round, news.has_payload, news.complete, view.notices.size(), view.minimum, payload};
  std::size_t bytes = sizeof(Header);
  if (view.notices.size() <= inline_notices_max) {
    std::memcpy(message.notices, view.notices.data(), view.notices.size_bytes());
    bytes += view.notices.size_bytes();
  } else {
    std::memcpy(board + page(epoch, round), view.notices.data(), view.notices.size_bytes());
  }
  co_await fabric::deliver(fabric, to, fabric::MessageKind::barrier, fabric::Urgency::when_polled,
                           std::as_bytes(std::span{&message, 1}).first(bytes));
}

Task<> Barrier::Parts::receive_round(unsigned round, News* news, Payload* payload) {
  const std::uint32_t ranks = fabric.ranks();
  const Rank from{(fabric.self().value + ranks - (1u << round)) % ranks};
  Inbox& inbox = this->inbox(epoch, round);
  co_await inbox.arrived;
  const Header& header = inbox.message.header;
  MUSUBI_CHECK(header.epoch == epoch && header.notice_count <= notices_max);
  if (header.has_payload && !news->has_payload) {
    *payload = header.payload;
    news->has_payload = true;
  }
  news->complete = news->complete && header.complete;
  if (header.notice_count <= inline_notices_max) {
    gathered.add_all(
        {header.minimum, {inbox.message.notices, static_cast<std::size_t>(header.notice_count)}});
  } else {
    std::array<fabric::Step, 1> step{fabric::get(coherence::control_region, board_offset + page(epoch, round),
                                                 received.data(), header.notice_count * sizeof(Notice))};
    co_await fabric::transfer(fabric, from, step);
    gathered.add_all({header.minimum, {received.data(), static_cast<std::size_t>(header.notice_count)}});
  }
  inbox.arrived.reset();
}

// What was gathered leaves the own signature when every thread that might take it from there has it already.
// If all threads of the job wait here, that is now. A thread that does not may read the signature of a rank
// that has left while its own rank is still acquiring: then it is at the next barrier, which everybody enters
// only after he has acquired all of this one.
Task<> Barrier::arrive(Payload& payload, bool quiescent, bool complete) {
  Parts& p = *parts_;
  p.counters.add(trace::Counter::barriers);
  co_await p.protocol.release(quiescent);
  p.gathered.clear();
  Collect collect(p.gathered);
  const std::uint64_t mark = p.protocol.signature(collect);
  ++p.epoch;
  Parts::News news{p.fabric.self() == Rank{0}, complete};
  for (unsigned round = 0; round < p.rounds; ++round) {
    co_await p.send_round(round, news, payload);
    co_await p.receive_round(round, &news, &payload);
  }
  using coherence::Audience;
  co_await p.protocol.acquire(p.gathered.view(),
                              news.complete ? Audience::everyone : Audience::all_ranks_soon);
  p.protocol.forget(news.complete ? mark : p.mark_before);
  p.mark_before = mark;
}

}  // namespace musubi::sync
