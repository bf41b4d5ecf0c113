#include "coherence/home_based/packets.h"

#include <atomic>
#include <cstring>

#include "base/check.h"
#include "coherence/core/block_words.h"
#include "coherence/rules/home_words.h"
#include "fabric/copy_words.h"

namespace musubi::coherence {
namespace {

using fabric::Call;
using fabric::Verdict;

constexpr Verdict done = 1;

// A shorter piece is copied once more rather than sent as a step of its own.
constexpr std::size_t long_piece_bytes = 2048;

// The arguments of the call are records: one for each block, followed by its pieces, each followed by its
// bytes.
struct Record {
  std::uint64_t block;
  std::uint32_t pieces;
  std::uint32_t ends;  // 1: this is the last record of the block's version
};
struct PieceHead {
  std::uint32_t begin;  // in the block
  std::uint32_t bytes;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> left) : left_(left) {}
  bool empty() const { return left_.empty(); }
  // Result: null if there are fewer bytes.
  const std::byte* take_bytes(std::size_t bytes) {
    if (left_.size() < bytes) return nullptr;
    const std::byte* const taken = left_.data();
    left_ = left_.subspan(bytes);
    return taken;
  }
  template <class T>
  bool take(T& to) {
    const std::byte* const from = take_bytes(sizeof to);
    if (from != nullptr) std::memcpy(&to, from, sizeof to);
    return from != nullptr;
  }

 private:
  std::span<const std::byte> left_;
};

// Result: whether the pieces of the record are such.
bool store_pieces(const Call& call, const PacketSide& side, const Record& record, Reader& reader) {
  const vm::Extent extent = side.space.extent(BlockId{record.block});
  for (std::uint32_t i = 0; i < record.pieces; ++i) {
    PieceHead piece;
    if (!reader.take(piece) || piece.begin > extent.bytes || piece.bytes > extent.bytes - piece.begin)
      return false;
    const std::byte* const from = reader.take_bytes(piece.bytes);
    std::byte* const place = call.at(private_region, extent.offset + piece.begin, piece.bytes);
    if (from == nullptr || place == nullptr) return false;
    const auto store = [&](std::size_t at, std::size_t bytes) {
      const std::size_t done_before = at - piece.begin;
      fabric::copy_words(place + done_before, from + done_before, bytes, place + done_before);
    };
    side.hooks.for_each_stretch(piece.begin, piece.bytes, store);
  }
  return true;
}

PublishedAtHome count_version(BlockWords& words, const Hooks& hooks) {
  hooks.touch();
  const std::uint64_t version = std::atomic_ref(words.version).fetch_add(1);
  hooks.touch();
  return {version, std::atomic_ref(words.read_ts).fetch_add(rules::HomeWord::one_tick)};
}

}  // namespace

Verdict apply_packet(Call& call, const void* data) noexcept {
  const PacketSide& side = *static_cast<const PacketSide*>(data);
  const bool counts_first = side.hooks.injected(InjectedBug::packet_counted_first);
  Reader reader(call.arguments());
  while (!reader.empty()) {
    Record record;
    if (!reader.take(record) || record.block >= side.space.blocks()) return fabric::malformed;
    const BlockId block{record.block};
    auto* const words = call.object_at<BlockWords>(words_region, word_offset(block, 0));
    if (words == nullptr) return fabric::malformed;
    PublishedAtHome before{};
    if (record.ends != 0 && counts_first) before = count_version(*words, side.hooks);
    if (!store_pieces(call, side, record, reader)) return fabric::malformed;
    if (record.ends != 0 && !counts_first) before = count_version(*words, side.hooks);
    if (record.ends != 0 && !call.add(before)) return fabric::malformed;
  }
  return done;
}

bool Packet::append(const void* from, std::size_t bytes) {
  if (bytes > arguments_.size() - bytes_) return false;
  if (bytes != 0) std::memcpy(arguments_.data() + bytes_, from, bytes);
  bytes_ += bytes;
  return true;
}

// Goes on with the last record if it is of this block and open.
bool Packet::open_record(const Block& block) {
  Record last{};
  if (bytes_ != 0) std::memcpy(&last, arguments_.data() + record_, sizeof last);
  if (bytes_ != 0 && last.block == block.id.value && last.ends == 0) return true;
  const std::size_t begin = bytes_;
  const Record record{block.id.value, 0, 0};
  if (!append(&record, sizeof record)) return false;
  record_ = begin;
  return true;
}

// A long piece is sent from the public copy, which has it by the time that the batch is posted.
bool Packet::add_piece(const Block& block, std::size_t begin, const std::byte* bytes, std::size_t count) {
  home_ = block.initial_home;
  if (count >= long_piece_bytes) {
    if (puts_ == puts_max) return false;
    steps_[puts_++] =
        fabric::put(private_region, block.extent.offset + begin, block.published + begin, count);
    return true;
  }
  const PieceHead head{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(count)};
  const std::size_t room = arguments_.size() - bytes_;
  if (room < sizeof(Record) + sizeof head + count || !open_record(block)) return false;
  append(&head, sizeof head);
  append(bytes, count);
  Record record;
  std::memcpy(&record, arguments_.data() + record_, sizeof record);
  ++record.pieces;
  std::memcpy(arguments_.data() + record_, &record, sizeof record);
  return true;
}

bool Packet::add_whole(const Block& block) {
  return add_piece(block, 0, block.published, block.extent.bytes);
}

bool Packet::end(const Block& block) {
  if (ended_ == blocks_max || !open_record(block)) return false;
  Record record;
  std::memcpy(&record, arguments_.data() + record_, sizeof record);
  record.ends = 1;
  std::memcpy(arguments_.data() + record_, &record, sizeof record);
  ++ended_;
  return true;
}

std::span<const fabric::Step> Packet::steps() {
  steps_[puts_] =
      fabric::call(packet_procedure, std::span(arguments_).first(bytes_), answer_.end, sizeof answer_.result);
  return std::span(steps_).first(puts_ + 1);
}

const PublishedAtHome& Packet::published(std::size_t i) const {
  MUSUBI_CHECK(answer_.end.verdict == done && i < ended_ &&
               answer_.end.bytes == ended_ * sizeof(PublishedAtHome));
  return answer_.result[i];
}

void Packet::clear() {
  puts_ = bytes_ = record_ = ended_ = 0;
}

}  // namespace musubi::coherence
