// What makes sure that the bytes of a lane arrive as they were sent. A lane is cut into records:
//
//   head      how many bytes follow, and a sum of this number: a damaged one is seen before it is believed
//   payload
//   tail      a sum of head and payload, or the tag of a cipher
//
// Both ends count the records, and the number of a record goes into its sums, or is its nonce. So a record
// that is missing, comes twice, or comes on another lane is as wrong as one with a changed bit. The cipher's
// key is of one lane: it is made of the job's secret, the lane, and a salt with which the lane begins. No I/O
// here; signal-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "fabric/active_messages/transport.h"

namespace musubi::fabric {

enum class Cipher : std::uint8_t { none, aes256_gcm, chacha20_poly1305 };

struct RecordHead {
  std::uint32_t bytes = 0;
  std::uint32_t sum = 0;
};
static_assert(sizeof(RecordHead) == 8);
inline constexpr std::size_t record_payload_max = std::size_t{36}
                                                  << 10;  // a block of the usual size, and its reply
inline constexpr std::size_t record_tail_max = 16;

// Which lane.
struct LaneName {
  Rank from, to;
  Lane lane = Lane::requests;
};

// Made of the job's secret; keys of lanes are made of it.
class LaneKeys {
 public:
  LaneKeys(Cipher cipher, std::span<const std::byte> secret) noexcept;
  ~LaneKeys();
  LaneKeys(const LaneKeys&) = delete;

  using Salt = std::array<std::byte, 32>;
  using Key = std::array<unsigned char, 32>;

  // The best one of this processor. To be called before anything else here, not in a signal handler.
  static Cipher best_cipher() noexcept;

  Cipher cipher() const noexcept { return cipher_; }
  // Bytes with which a lane begins, before its first record.
  std::size_t salt_bytes() const noexcept { return cipher_ == Cipher::none ? 0 : sizeof(Salt); }
  std::size_t tail_bytes() const noexcept {
    return cipher_ == Cipher::none ? sizeof(std::uint32_t) : record_tail_max;
  }
  Key key_of(const LaneName& lane, const Salt& salt) const noexcept;

 private:
  const Cipher cipher_;
  Key secret_{};
};

// One end of one lane. One thread at a time.
class LaneSeal {
 public:
  LaneSeal() = default;
  ~LaneSeal();
  LaneSeal(const LaneSeal&) = delete;

  void begin(const LaneKeys& keys, const LaneName& lane, const LaneKeys::Salt& salt) noexcept;
  bool has_begun() const noexcept { return has_begun_; }

  // Of the next record.
  RecordHead head(std::size_t payload_bytes) const noexcept;
  bool is_head(const RecordHead& head) const noexcept;
  // The next record leaves; `tail` has tail_bytes(). A cipher changes the payload in its place; without one
  // it may be any memory, which is only read.
  void close(const RecordHead& head, std::span<std::byte> payload, std::byte* tail) noexcept;
  void close_by_sum(const RecordHead& head, std::span<const std::byte> payload, std::byte* tail) noexcept;
  // It has come. Result: whether it is the one that was sent; then the payload is as it was.
  bool open(const RecordHead& head, std::span<std::byte> payload, const std::byte* tail) noexcept;

 private:
  static constexpr std::size_t schedule_bytes = 512;

  Cipher cipher_ = Cipher::none;
  bool has_begun_ = false;
  std::uint32_t lane_sum_ = 0;
  std::uint64_t sequence_ = 0;
  alignas(16) std::array<unsigned char, schedule_bytes> schedule_;  // of AES; or the key
};

}  // namespace musubi::fabric
