#include "launch/hosts/wire/channel_seal.h"

#include <sodium.h>

#include <cstring>

#include "base/check.h"
#include "os/crc32c.h"

namespace musubi::launch {
namespace {

using Sum = std::uint32_t;

static_assert(sizeof(ChannelKeys::Key) == crypto_secretstream_xchacha20poly1305_KEYBYTES);
static_assert(sizeof(ChannelKeys::Key) == crypto_auth_hmacsha512256_BYTES);

const unsigned char* bytes_of(const char* text) {
  return reinterpret_cast<const unsigned char*>(text);
}
unsigned char* bytes_of(char* text) {
  return reinterpret_cast<unsigned char*>(text);
}

ChannelKeys::Key key_of(std::string_view secret, std::uint32_t rank, const char* direction) {
  const std::string purpose = "musubi channel " + std::to_string(rank) + direction;
  ChannelKeys::Key key, of_secret;
  crypto_hash_sha256(of_secret.data(), bytes_of(secret.data()), secret.size());
  crypto_auth_hmacsha512256(key.data(), bytes_of(purpose.data()), purpose.size(), of_secret.data());
  sodium_memzero(of_secret.data(), of_secret.size());
  return key;
}

}  // namespace

ChannelKeys channel_keys(std::string_view secret, std::uint32_t rank) {
  return {key_of(secret, rank, " to the proxy"), key_of(secret, rank, " to the launcher")};
}

struct ChannelSeal::Streams {
  ChannelKeys::Key of_sent, of_received;
  crypto_secretstream_xchacha20poly1305_state sent, received;

  ~Streams() { sodium_memzero(this, sizeof *this); }
};

ChannelSeal::ChannelSeal() = default;
ChannelSeal::~ChannelSeal() = default;
ChannelSeal::ChannelSeal(ChannelSeal&& other) noexcept = default;
ChannelSeal& ChannelSeal::operator=(ChannelSeal&& other) noexcept = default;

ChannelSeal::ChannelSeal(const ChannelKeys::Key& of_sent, const ChannelKeys::Key& of_received)
    : streams_(new Streams{of_sent, of_received, {}, {}}) {
  MUSUBI_CHECK(sodium_init() >= 0, "libsodium does not begin");
}

std::size_t ChannelSeal::salt_bytes() const {
  return hides() ? crypto_secretstream_xchacha20poly1305_HEADERBYTES : 0;
}

std::size_t ChannelSeal::tail_bytes() const {
  return hides() ? crypto_secretstream_xchacha20poly1305_ABYTES : sizeof(Sum);
}

std::string ChannelSeal::begin_sending() {
  std::string salt(salt_bytes(), '\0');
  if (hides()) {
    crypto_secretstream_xchacha20poly1305_init_push(&streams_->sent, bytes_of(salt.data()),
                                                    streams_->of_sent.data());
  }
  return salt;
}

bool ChannelSeal::begin_receiving(const char* salt) {
  return !hides() || crypto_secretstream_xchacha20poly1305_init_pull(&streams_->received, bytes_of(salt),
                                                                     streams_->of_received.data()) == 0;
}

std::string ChannelSeal::close(std::string_view part) {
  if (!hides()) return std::string(part) + tail_of(part);
  std::string sealed(part.size() + tail_bytes(), '\0');
  crypto_secretstream_xchacha20poly1305_push(&streams_->sent, bytes_of(sealed.data()), nullptr,
                                             bytes_of(part.data()), part.size(), nullptr, 0, 0);
  return sealed;
}

std::string ChannelSeal::tail_of(std::string_view part) {
  sent_sum_ = os::crc32c(sent_sum_, part.data(), part.size());
  return {reinterpret_cast<const char*>(&sent_sum_), sizeof sent_sum_};
}

bool ChannelSeal::open(const char* sealed, std::size_t part_bytes, char* part) {
  if (hides()) {
    return crypto_secretstream_xchacha20poly1305_pull(&streams_->received, bytes_of(part), nullptr, nullptr,
                                                      bytes_of(sealed), part_bytes + tail_bytes(), nullptr,
                                                      0) == 0;
  }
  Sum sum = 0;
  std::memcpy(&sum, sealed + part_bytes, sizeof sum);
  received_sum_ = os::crc32c(received_sum_, sealed, part_bytes);
  if (sum != received_sum_) return false;
  if (part_bytes != 0) std::memcpy(part, sealed, part_bytes);
  return true;
}

}  // namespace musubi::launch
