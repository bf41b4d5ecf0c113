// Detects bytes of a lane that do not arrive as they were sent. A lane is cut into records:
//
// head      the size of the payload and its checksum, so that a damaged size is not used
// payload
// tail      a checksum of head and payload, or the tag of a cipher
//
// Both ends count the records. The number of a record enters its checksums, or is its nonce, so a record that
// is missing, repeated, or on the wrong lane is detected like a changed bit. Each lane has its own cipher
// key, derived from the job's secret, the lane, and a salt sent first on the lane. No I/O here; signal-safe.
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
// Fits a block of the usual size and its reply.
inline constexpr std::size_t record_payload_max = std::size_t{36} << 10;
inline constexpr std::size_t record_tail_max = 16;

// Identifies a lane.
struct LaneName {
  Rank from, to;
  Lane lane = Lane::requests;
};

// Derived from the job's secret; derives the keys of lanes.
class LaneKeys {
 public:
  LaneKeys(Cipher cipher, std::span<const std::byte> secret) noexcept;
  ~LaneKeys();
  LaneKeys(const LaneKeys&) = delete;

  using Salt = std::array<std::byte, 32>;
  using Key = std::array<unsigned char, 32>;

  // The best one of this processor. Before any other call here, not in a signal handler.
  static Cipher best_cipher() noexcept;

  Cipher cipher() const noexcept { return cipher_; }
  // The size of the salt that is sent on a lane before its first record.
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

  // Makes or checks the head of the next record.
  RecordHead head(std::size_t payload_bytes) const noexcept;
  bool is_head(const RecordHead& head) const noexcept;
  // Seals the next record to be sent; `tail` has tail_bytes(). A cipher encrypts the payload in place;
  // without one the payload is only read, in any memory.
  void close(const RecordHead& head, std::span<std::byte> payload, std::byte* tail) noexcept;
  void close_by_sum(const RecordHead& head, std::span<const std::byte> payload, std::byte* tail) noexcept;
  // Opens the next received record. Result: whether it is intact; if so, the payload is decrypted in place.
  bool open(const RecordHead& head, std::span<std::byte> payload, const std::byte* tail) noexcept;

 private:
  static constexpr std::size_t schedule_bytes = 512;

  Cipher cipher_ = Cipher::none;
  bool has_begun_ = false;
  std::uint32_t lane_sum_ = 0;
  std::uint64_t sequence_ = 0;
  alignas(16) std::array<unsigned char, schedule_bytes> schedule_;  // AES key schedule, or the key
};

}  // namespace musubi::fabric
