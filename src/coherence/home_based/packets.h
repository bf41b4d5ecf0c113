// Packets: the changes of a release to many blocks of one home travel together, and one procedure there
// stores them and counts a version of each block (paper CC, combining of packets).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "coherence/regions.h"
#include "coherence/store/block_store.h"
#include "coherence/store/changes.h"
#include "fabric/calls.h"
#include "fabric/fabric.h"
#include "hooks/hooks.h"
#include "vm/space.h"

namespace musubi::coherence {

// The words of a block at its home just before a release elsewhere raised them: BlockWords::version by one,
// read_ts by a tick of rules::HomeWord.
struct PublishedAtHome {
  std::uint64_t version;
  std::uint64_t word;
};

// One batch to one home: puts of long pieces, and a call with all other pieces. Lives in the task that posts
// it, which holds the gates of its blocks until then.
class Packet {
 public:
  static constexpr std::size_t blocks_max = 64;

  Packet() = default;
  Packet(const Packet&) = delete;
  Packet& operator=(const Packet&) = delete;

  // Adds the pieces until the packet is full; the public copy gets them. Result: whether all have been added;
  // the rest belongs into the next packet. `Pieces`: Changes or WrittenWords.
  template <class Pieces>
  bool add(Pieces& pieces, const Block& block);
  // Adds all bytes of the block's public copy, which stays unchanged until the batch is complete.
  bool add_whole(const Block& block);
  // All changes of the block are in this packet or in earlier ones: its version is counted. Result: false if
  // there is no room.
  bool end(const Block& block);

  // REQUIRES: not empty.
  Rank home() const { return home_; }
  bool empty() const { return bytes_ == 0 && puts_ == 0; }
  std::span<const fabric::Step> steps();
  // The words of the block that was ended as number `i`, once the batch is complete.
  const PublishedAtHome& published(std::size_t i) const;
  void clear();

 private:
  static constexpr std::size_t puts_max = 16;

  bool open_record(const Block& block);
  bool add_piece(const Block& block, std::size_t begin, const std::byte* bytes, std::size_t count);
  bool append(const void* from, std::size_t bytes);

  Rank home_;
  std::array<fabric::Step, puts_max + 1> steps_;
  std::size_t puts_ = 0;
  std::array<std::byte, fabric::call_argument_bytes_max> arguments_;
  std::size_t bytes_ = 0;
  std::size_t record_ = 0;  // where the last one begins
  std::size_t ended_ = 0;   // blocks
  fabric::Answer<std::array<PublishedAtHome, blocks_max>> answer_;
};

template <class Pieces>
bool Packet::add(Pieces& pieces, const Block& block) {
  for (;;) {
    const auto [begin, end] = pieces.next();
    if (begin == end) return true;
    const std::byte* const bytes = pieces.bytes_at(begin);
    if (!add_piece(block, begin, bytes, end - begin)) return false;
    if (bytes != block.published + begin) std::memcpy(block.published + begin, bytes, end - begin);
    pieces.pass(end);
  }
}

// Data of the procedure.
struct PacketSide {
  const vm::Space& space;
  Hooks hooks;
};

// A fabric::Procedure; `data`: a PacketSide.
fabric::Verdict apply_packet(fabric::Call& call, const void* data) noexcept;

}  // namespace musubi::coherence
