// Detects bytes of a channel that do not arrive as they were sent: by checksums if ssh or this host carries
// them, by a cipher if they cross a network unprotected. Each part of a message gets a tail, by which the
// other end also detects a part that is missing or repeated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace musubi::launch {

// The keys of one encrypted channel, derived from the job's secret: one for each direction.
struct ChannelKeys {
  using Key = std::array<unsigned char, 32>;
  Key to_proxy{}, to_launcher{};
};
// The keys of the channel to the proxy whose first rank is `rank`.
ChannelKeys channel_keys(std::string_view secret, std::uint32_t rank);

// Both directions, seen from one end. One thread.
class ChannelSeal {
 public:
  ChannelSeal();  // with checksums
  // With libsodium's secretstream (XChaCha20-Poly1305).
  ChannelSeal(const ChannelKeys::Key& of_sent, const ChannelKeys::Key& of_received);
  ~ChannelSeal();
  ChannelSeal(ChannelSeal&& other) noexcept;
  ChannelSeal& operator=(ChannelSeal&& other) noexcept;

  bool hides() const { return streams_ != nullptr; }
  // The size of the salt before the first part of a direction, and of the tail after each part.
  std::size_t salt_bytes() const;
  std::size_t tail_bytes() const;

  // The salt that this end sends first.
  std::string begin_sending();
  // Takes the other end's salt, of salt_bytes() bytes. Result: false if it is invalid.
  bool begin_receiving(const char* salt);

  // Seals the next part. Result: the part as it is sent, with its tail.
  std::string close(std::string_view part);
  // Only the tail of a part that is sent in place. REQUIRES: !hides().
  std::string tail_of(std::string_view part);
  // Opens the next received part, of `part_bytes` and a tail, into `part`. Result: whether it is intact.
  bool open(const char* sealed, std::size_t part_bytes, char* part);

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
  std::uint32_t sent_sum_ = 0, received_sum_ = 0;  // of all parts so far
};

}  // namespace musubi::launch
