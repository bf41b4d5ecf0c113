#include "sync/collectives.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "fabric/transfer.h"

namespace musubi::sync {
namespace {

constexpr std::size_t value_bytes_min = 64;  // that every job can gather at once

// Small jobs take one message per round.
std::size_t bytes_max_for(std::uint32_t ranks, std::size_t payload_max) {
  MUSUBI_CHECK(ranks != 0);
  const std::size_t blocks = std::max<std::size_t>(1, ranks / 2);
  return std::max(value_bytes_min, payload_max / blocks / 16 * 16);
}

}  // namespace

Collectives::Collectives(fabric::Fabric& fabric, Hooks hooks)
    : fabric_(fabric),
      self_(fabric.self().value),
      ranks_(fabric.ranks()),
      rounds_(static_cast<unsigned>(std::bit_width(ranks_ - 1))),
      bytes_max_(bytes_max_for(ranks_, payload_max)),
      hooks_(hooks),
      inboxes_(2 * rounds_),
      values_(ranks_ * bytes_max_) {
  for (unsigned round = 0; round < rounds_; ++round) {
    for (unsigned parity = 0; parity < 2; ++parity) {
      inboxes_[parity * rounds_ + round].bytes.resize(blocks_in(round) * bytes_max_);
    }
  }
  fabric.listen(fabric::MessageKind::collective, this);
}

// Number of values in a message of this round: those of its sender and of the ranks before it.
std::uint32_t Collectives::blocks_in(unsigned round) const {
  MUSUBI_CHECK(round < rounds_);
  return std::min(1u << round, ranks_ - (1u << round));
}

// The buffer for the bytes that `sender` sends in this round: this rank, or the one 2^round before it.
std::span<std::byte> Collectives::outgoing(const CollectiveTerms& terms, unsigned round,
                                           std::uint32_t sender) {
  const std::uint32_t first = slot_of(sender);
  const std::uint32_t blocks = blocks_in(round);
  if (terms.giver == CollectiveTerms::all_give) {
    return {values_.data() + first * terms.bytes, blocks * terms.bytes};
  }
  const std::uint32_t slot = slot_of(terms.giver);
  const std::uint32_t from_sender = (slot + ranks_ - first) % ranks_;
  if (from_sender >= blocks) return {};
  return {values_.data() + slot * terms.bytes, terms.bytes};
}

Task<> Collectives::send(std::uint64_t position, const CollectiveTerms& terms, unsigned round) {
  MUSUBI_CHECK(terms.bytes <= bytes_max_);
  const std::span<const std::byte> bytes = outgoing(terms, round, self_);
  const Rank peer{(self_ + (1u << round)) % ranks_};
  std::size_t offset = 0;
  do {
    Message message;
    const std::size_t now = std::min(payload_max, bytes.size() - offset);
    message.header = {
        position, round, static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(bytes.size()),
        0,        terms};
    if (now != 0) std::memcpy(message.payload, bytes.data() + offset, now);
    co_await fabric::deliver(fabric_, peer, fabric::MessageKind::collective, fabric::Urgency::when_polled,
                             std::as_bytes(std::span{&message, 1}).first(sizeof(Header) + now));
    offset += now;
  } while (offset < bytes.size());
}

Task<bool> Collectives::gather(const CollectiveTerms& terms, std::span<const std::byte> mine) {
  MUSUBI_CHECK(mine.size() == terms.bytes && mine.size() <= bytes_max_);
  MUSUBI_CHECK(terms.giver == CollectiveTerms::all_give || terms.giver < ranks_);
  MUSUBI_CHECK((state_.load(std::memory_order_relaxed) & in_barrier) == 0);
  const std::uint64_t position = state_.load(std::memory_order_relaxed) / 2 + 1;
  state_.store(position * 2);
  value_bytes_ = mine.size();
  if (!mine.empty()) std::memcpy(values_.data(), mine.data(), mine.size());
  for (unsigned round = 0; round < rounds_; ++round) {
    co_await send(position, terms, round);
    Inbox& inbox = this->inbox(position, round);
    co_await inbox.complete;
    const Rank peer{(self_ + ranks_ - (1u << round)) % ranks_};
    if (inbox.terms != terms) {
      tell(terms, peer, inbox.terms);
      co_return false;
    }
    const std::span<std::byte> place = outgoing(terms, round, peer.value);
    if (!place.empty()) std::memcpy(place.data(), inbox.bytes.data(), place.size());
    inbox.arrived_bytes = 0;
    inbox.complete.reset();
  }
  co_return true;
}

std::span<const std::byte> Collectives::value_of(Rank rank) const {
  MUSUBI_CHECK(rank.value < ranks_);
  return {values_.data() + slot_of(rank.value) * value_bytes_, value_bytes_};
}

// Messages are delivered one at a time. A message with terms other than this rank's only reports the
// mismatch.
const char* Collectives::on_message(Rank from, std::span<const std::byte> body) noexcept {
  Header header;
  if (body.size() < sizeof header) return "its message of a collective call is too short";
  std::memcpy(&header, body.data(), sizeof header);
  const std::size_t bytes = body.size() - sizeof header;
  if (is_damaged(from, header, bytes)) return "its message of a collective call is damaged";
  Inbox& inbox = this->inbox(header.position, header.round);
  const std::uint64_t position = state_.load() / 2;
  const bool is_of_now = header.position - position <= 1 && !inbox.complete.is_set();
  if (!is_of_now || header.offset != inbox.arrived_bytes) return "its message is of another collective call";
  if (bytes != 0) std::memcpy(inbox.bytes.data() + header.offset, body.data() + sizeof header, bytes);
  inbox.terms = header.terms;
  inbox.arrived_bytes += static_cast<std::uint32_t>(bytes);
  const bool all = inbox.arrived_bytes == header.bytes;
  if (header.round == 0 && header.offset == 0) {
    newest_from_.store(from.value, std::memory_order_relaxed);
    newest_.store(header.position);
    if (state_.load() == (header.position * 2 | in_barrier)) tell(barrier_, from, header.terms);
  }
  if (all) inbox.complete.set();
  return nullptr;
}

// Sender and lengths must match the round and the terms.
bool Collectives::is_damaged(Rank from, const Header& header, std::size_t bytes) noexcept {
  const CollectiveTerms& terms = header.terms;
  if (header.round >= rounds_ || from.value != (self_ + ranks_ - (1u << header.round)) % ranks_) return true;
  if (terms.bytes > bytes_max_) return true;
  if (terms.giver != CollectiveTerms::all_give && terms.giver >= ranks_) return true;
  const std::size_t whole = outgoing(terms, header.round, from.value).size();
  return header.bytes != whole || header.offset > whole || bytes > whole - header.offset;
}

// Publishes its position before it reads the newest message; on_message() does the reverse: one of the two
// sees the other.
void Collectives::begin_barrier(const CollectiveTerms& terms) noexcept {
  if (rounds_ == 0) return;
  MUSUBI_CHECK((state_.load(std::memory_order_relaxed) & in_barrier) == 0);
  const std::uint64_t position = state_.load(std::memory_order_relaxed) / 2 + 1;
  barrier_ = terms;
  state_.exchange(position * 2 | in_barrier);
  if (newest_.load() != position) return;
  tell(terms, Rank{newest_from_.load(std::memory_order_relaxed)}, inbox(position, 0).terms);
}

void Collectives::tell(const CollectiveTerms& own, Rank other, const CollectiveTerms& theirs) noexcept {
  MUSUBI_CHECK(mismatch_listener_ != nullptr, "rank %u is in another collective operation", other.value);
  mismatch_listener_->on_mismatch(own, other, theirs);
}

}  // namespace musubi::sync
