// What makes sure that the bytes of a channel arrive as they were sent: by sums, where ssh or this host
// carries them; by a cipher, where they cross a network without it. Each part of a message gets a tail, by
// which the other end finds a change, and also a part that is missing or comes twice.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace musubi::launch {

// Of one channel by a cipher, made of the job's secret: a key for each direction.
struct ChannelKeys {
  using Key = std::array<unsigned char, 32>;
  Key to_proxy{}, to_launcher{};
};
// Of the channel to the proxy that has `rank` as its first.
ChannelKeys channel_keys(std::string_view secret, std::uint32_t rank);

// Both directions, seen from one end. One thread.
class ChannelSeal {
 public:
  ChannelSeal();  // by sums
  // By libsodium's secretstream (XChaCha20-Poly1305).
  ChannelSeal(const ChannelKeys::Key& of_sent, const ChannelKeys::Key& of_received);
  ~ChannelSeal();
  ChannelSeal(ChannelSeal&& other) noexcept;
  ChannelSeal& operator=(ChannelSeal&& other) noexcept;

  bool hides() const { return streams_ != nullptr; }
  // Bytes before the first part of a direction, and after each part.
  std::size_t salt_bytes() const;
  std::size_t tail_bytes() const;

  // What this end sends first.
  std::string begin_sending();
  // The other end's; salt_bytes() of them. Result: false: they are none.
  bool begin_receiving(const char* salt);

  // The next part as it is sent, with its tail.
  std::string close(std::string_view part);
  // Its tail alone, when the part itself is sent as it is. REQUIRES: !hides().
  std::string tail_of(std::string_view part);
  // The next part has come, `part_bytes` and a tail. Result: whether it is what was sent; then it is in
  // `part`.
  bool open(const char* sealed, std::size_t part_bytes, char* part);

 private:
  struct Streams;
  std::unique_ptr<Streams> streams_;
  std::uint32_t sent_sum_ = 0, received_sum_ = 0;  // of all parts so far
};

}  // namespace musubi::launch
