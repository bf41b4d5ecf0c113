#include "fabric/seal/sealed_transport.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "os/tcp.h"

namespace musubi::fabric {
namespace {

// Each takes memory on first use.
constexpr std::size_t leaving_bytes = std::size_t{40} << 10;
constexpr std::size_t coming_bytes = std::size_t{64} << 10;
constexpr std::size_t bytes_of_peer = lane_count * (leaving_bytes + coming_bytes);
static_assert(sizeof(LaneKeys::Salt) + sizeof(RecordHead) + record_payload_max + record_tail_max <=
              leaving_bytes);
static_assert(sizeof(RecordHead) + record_payload_max + record_tail_max <= coming_bytes);

constexpr std::size_t lanes_per_word = 64;

std::size_t bytes_in(std::span<const Piece> pieces) noexcept {
  std::size_t bytes = 0;
  for (const Piece& piece : pieces) bytes += piece.size();
  return bytes;
}

// Copies bytes of the pieces, skipping the first `skip`.
void copy_out(std::span<const Piece> pieces, std::size_t skip, std::byte* to, std::size_t bytes) noexcept {
  for (const Piece& piece : pieces) {
    if (bytes == 0) return;
    if (skip >= piece.size()) {
      skip -= piece.size();
      continue;
    }
    const std::size_t part = std::min(bytes, piece.size() - skip);
    std::memcpy(to, piece.data() + skip, part);
    skip = 0;
    to += part;
    bytes -= part;
  }
}

}  // namespace

SealedTransport::SealedTransport(Transport& below, Cipher cipher, std::span<const std::byte> secret)
    : below_(below),
      keys_(cipher, secret),
      peers_(below_.ranks()),
      held_((lane_count * peers_.size() + lanes_per_word - 1) / lanes_per_word) {
  auto memory = os::Mapping::anywhere(bytes_of_peer * peers_.size(), os::Protection::read_write);
  MUSUBI_CHECK(memory.ok(), "%s", memory.error().message.c_str());
  memory_ = std::move(memory).value();
  std::byte* next = memory_.data();
  for (Peer& peer : peers_) {
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      peer.leaving[lane].bytes = next;
      peer.coming[lane].bytes = next + leaving_bytes;
      next += leaving_bytes + coming_bytes;
    }
  }
}

// The bytes of a record count as taken only when the whole record is; until then they are offered again.
std::size_t SealedTransport::send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept {
  const std::size_t offered = bytes_in(pieces);
  Leaving& record = leaving(peer, lane);
  std::size_t taken = 0;
  while (taken < offered) {
    if (record.payload == 0) begin_record(peer, lane, pieces, taken);
    if (!send_record(peer, lane, pieces, taken)) break;
    taken += record.payload;
    record.payload = 0;
  }
  return taken;
}

// Requests may refer to memory of the program, which another thread can change while it is sent, so they are
// copied. Replies are in the engine's buffer.
void SealedTransport::begin_record(Rank peer, Lane lane, std::span<const Piece> pieces,
                                   std::size_t skip) noexcept {
  Leaving& record = leaving(peer, lane);
  record.front = record.sent = 0;
  if (!record.seal.has_begun()) {
    LaneKeys::Salt salt{};
    if (keys_.salt_bytes() != 0) {
      MUSUBI_CHECK(os::random_bytes(salt.data(), salt.size()), "the kernel gives no random bytes");
      std::memcpy(record.bytes, salt.data(), salt.size());
      record.front = salt.size();
    }
    record.seal.begin(keys_, {self(), peer, lane}, salt);
  }
  record.payload = std::min(bytes_in(pieces) - skip, record_payload_max);
  const RecordHead head = record.seal.head(record.payload);
  std::memcpy(record.bytes + record.front, &head, sizeof head);
  record.front += sizeof head;
  std::byte* const after = record.bytes + record.front;
  record.is_here = lane == Lane::requests || pieces.size() != 1 || keys_.cipher() != Cipher::none;
  if (record.is_here) {
    copy_out(pieces, skip, after, record.payload);
    record.seal.close(head, {after, record.payload}, after + record.payload);
    record.copies.store(record.copies.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  } else {
    record.seal.close_by_sum(head, pieces.front().subspan(skip, record.payload), after);
  }
}

// Result: whether the whole record is taken.
bool SealedTransport::send_record(Rank peer, Lane lane, std::span<const Piece> pieces,
                                  std::size_t skip) noexcept {
  Leaving& record = leaving(peer, lane);
  std::array<Piece, 3> parts;
  const std::size_t tail = keys_.tail_bytes();
  if (record.is_here) {
    parts = {Piece(record.bytes, record.front + record.payload + tail), {}, {}};
  } else {
    parts = {Piece(record.bytes, record.front), pieces.front().subspan(skip, record.payload),
             Piece(record.bytes + record.front, tail)};
  }
  std::size_t sent = record.sent, first = 0;
  while (sent >= parts[first].size() && first + 1 < parts.size()) sent -= parts[first++].size();
  parts[first] = parts[first].subspan(sent);
  std::size_t count = parts.size();
  while (count > first && parts[count - 1].empty()) --count;
  const auto rest = std::span(std::as_const(parts)).subspan(first, count - first);
  const std::size_t taken = below_.send(peer, lane, rest);
  record.sent += taken;
  return taken == bytes_in(rest);
}

Polled SealedTransport::poll(Receiver& receiver) noexcept {
  receiver_ = &receiver;
  Polled polled = below_.poll(*this);
  for (std::size_t word = 0; word < held_.size(); ++word) {
    for (std::uint64_t lanes = std::exchange(held_[word], 0); lanes != 0; lanes &= lanes - 1) {
      const std::size_t bit = word * lanes_per_word + static_cast<std::size_t>(std::countr_zero(lanes));
      const Rank peer{static_cast<std::uint32_t>(bit / lane_count)};
      if (deliver(peer, static_cast<Lane>(bit % lane_count))) polled = std::max(polled, Polled::something);
    }
  }
  return polled;
}

std::size_t SealedTransport::places(Rank from, Lane lane, std::span<Place, places_max> places) noexcept {
  const Coming& coming = this->coming(from, lane);
  if (coming.checked != 0 || peers_[from.value].is_shut) return 0;
  places[0] = Place(coming.bytes + coming.end, coming_bytes - coming.end);
  return 1;
}

void SealedTransport::received(Rank from, Lane lane, std::size_t bytes) noexcept {
  if (lane == Lane::replies) (void)leaving(from, Lane::requests).copies.load(std::memory_order_acquire);
  coming(from, lane).end += bytes;
  (void)deliver(from, lane);
}

void SealedTransport::lost(Rank peer, Loss loss) noexcept {
  peers_[peer.value].is_shut = true;
  receiver_->lost(peer, loss);
}

void SealedTransport::close(Rank peer) noexcept {
  peers_[peer.value].is_shut = true;
  below_.close(peer);
}

// Delivers arrivals that are complete, intact, and wanted. Result: whether there were any.
bool SealedTransport::deliver(Rank peer, Lane lane) noexcept {
  Coming& coming = this->coming(peer, lane);
  bool any = false;
  while (!peers_[peer.value].is_shut) {
    if (coming.checked != 0) {
      if (hand_on(peer, lane, coming) == 0) {
        const std::size_t bit = peer.value * lane_count + index(lane);
        held_[bit / lanes_per_word] |= std::uint64_t{1} << bit % lanes_per_word;
        return any;
      }
      any = true;
      continue;
    }
    const Opened opened = open_next(peer, lane, coming);
    if (opened == Opened::damaged) find_damaged(peer);
    if (opened != Opened::record) break;
  }
  make_room(coming);
  return any;
}

SealedTransport::Opened SealedTransport::open_next(Rank peer, Lane lane, Coming& coming) noexcept {
  if (!coming.seal.has_begun()) {
    LaneKeys::Salt salt{};
    if (coming.end - coming.begin < keys_.salt_bytes()) return Opened::nothing;
    if (keys_.salt_bytes() != 0) std::memcpy(salt.data(), coming.bytes + coming.begin, salt.size());
    coming.begin += keys_.salt_bytes();
    coming.seal.begin(keys_, {peer, self(), lane}, salt);
  }
  RecordHead head;
  const std::size_t there = coming.end - coming.begin;
  if (there < sizeof head) return Opened::nothing;
  std::memcpy(&head, coming.bytes + coming.begin, sizeof head);
  if (!coming.seal.is_head(head)) return Opened::damaged;
  if (there < sizeof head + head.bytes + keys_.tail_bytes()) return Opened::nothing;
  coming.begin += sizeof head;
  std::byte* const payload = coming.bytes + coming.begin;
  if (!coming.seal.open(head, {payload, head.bytes}, payload + head.bytes)) return Opened::damaged;
  coming.checked = head.bytes;
  return Opened::record;
}

// Result: bytes that the engine took.
std::size_t SealedTransport::hand_on(Rank peer, Lane lane, Coming& coming) noexcept {
  std::array<Place, places_max> places;
  const std::size_t wanted = receiver_->places(peer, lane, places);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::size_t part = std::min(places[i].size(), coming.checked - taken);
    if (part != 0) std::memcpy(places[i].data(), coming.bytes + coming.begin + taken, part);
    taken += part;
  }
  if (taken == 0) return 0;
  coming.begin += taken;
  coming.checked -= taken;
  if (coming.checked == 0) coming.begin += keys_.tail_bytes();
  receiver_->received(peer, lane, taken);
  return taken;
}

// Makes room for the rest of the current record.
void SealedTransport::make_room(Coming& coming) noexcept {
  constexpr std::size_t record_max = sizeof(RecordHead) + record_payload_max + record_tail_max;
  if (coming.begin == coming.end) {
    coming.begin = coming.end = 0;
  } else if (coming_bytes - coming.begin < record_max) {
    std::memmove(coming.bytes, coming.bytes + coming.begin, coming.end - coming.begin);
    coming.end -= coming.begin;
    coming.begin = 0;
  }
}

void SealedTransport::find_damaged(Rank peer) noexcept {
  close(peer);
  receiver_->lost(peer, {Loss::Kind::damaged, keys_.cipher() == Cipher::none
                                                  ? "bytes from there were damaged on their way"
                                                  : "bytes from there were changed on their way"});
}

}  // namespace musubi::fabric
