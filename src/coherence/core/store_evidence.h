// What is known of how the program writes to one block: the widths of stores that faulted, and where the last
// of them was. Packed into a word that other ranks read (BlockWords::stores).
//
// Stores after the one that opened the block are not seen, so this says what there is, never what there is
// not (docs/decisions/merge_unit.md).
#pragma once

#include <cstddef>
#include <cstdint>

namespace musubi::coherence {

class StoreEvidence {
 public:
  constexpr explicit StoreEvidence(std::uint64_t raw = 0) : raw_(raw) {}
  constexpr std::uint64_t raw() const { return raw_; }

  // A store of `bytes` at `offset` in the block has faulted: 1, 2, 4 or 8; 0: its width says nothing, as that
  // of a vector.
  constexpr StoreEvidence after_store(std::size_t offset, std::size_t bytes) const {
    if (bytes == 0) return StoreEvidence(raw_ & width_bits);
    return StoreEvidence((raw_ & width_bits) | bit_of(bytes) | bytes << last_bytes_at |
                         std::uint64_t{static_cast<std::uint32_t>(offset)} << last_offset_at);
  }
  // The widths that either knows of; the last store is this one's.
  constexpr StoreEvidence with_widths_of(StoreEvidence other) const {
    return StoreEvidence(raw_ | (other.raw_ & width_bits));
  }
  // A release ends the interval that the last store belongs to.
  constexpr StoreEvidence after_release() const { return StoreEvidence(raw_ & width_bits); }
  // The width of the last store, 0 where it is not known.
  constexpr std::size_t last_bytes() const { return raw_ >> last_bytes_at & width_bits; }
  // Whether the last store wrote all of these bytes, at once.
  constexpr bool covers(std::size_t offset, std::size_t bytes) const {
    const std::size_t begin = raw_ >> last_offset_at;
    return begin <= offset && offset + bytes <= begin + last_bytes();
  }
  // The narrowest width seen; 0: none was.
  constexpr std::size_t narrowest() const {
    const std::uint64_t widths = raw_ & width_bits;
    return static_cast<std::size_t>(widths & (~widths + 1));
  }
  constexpr StoreEvidence with_width(std::size_t bytes) const { return StoreEvidence(raw_ | bit_of(bytes)); }

 private:
  static constexpr std::uint64_t width_bits = 0xf;  // each width is its own bit: 1, 2, 4, 8
  static constexpr unsigned last_bytes_at = 4, last_offset_at = 8;
  static constexpr std::uint64_t bit_of(std::size_t bytes) { return bytes & width_bits; }

  std::uint64_t raw_;
};

}  // namespace musubi::coherence
