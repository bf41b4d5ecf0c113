#include "fabric/seal/lane_seal.h"

#include <sodium.h>

#include <cstring>

#include "base/check.h"
#include "os/crc32c.h"

namespace musubi::fabric {
namespace {

static_assert(crypto_auth_hmacsha512256_BYTES == sizeof(LaneKeys::Key));
static_assert(crypto_auth_hmacsha512256_KEYBYTES == sizeof(LaneKeys::Key));
static_assert(crypto_aead_aes256gcm_KEYBYTES == sizeof(LaneKeys::Key));
static_assert(crypto_aead_aes256gcm_ABYTES == record_tail_max);
static_assert(crypto_aead_chacha20poly1305_ietf_ABYTES == record_tail_max);

using Nonce = std::array<unsigned char, crypto_aead_aes256gcm_NPUBBYTES>;
static_assert(sizeof(Nonce) == crypto_aead_chacha20poly1305_ietf_NPUBBYTES);

// The number of the record, which never repeats with one key.
Nonce nonce_of(std::uint64_t sequence) noexcept {
  Nonce nonce{};
  std::memcpy(nonce.data(), &sequence, sizeof sequence);
  return nonce;
}

unsigned char* bytes_of(std::byte* bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes);
}
const unsigned char* bytes_of(const void* bytes) noexcept {
  return static_cast<const unsigned char*>(bytes);
}

}  // namespace

Cipher LaneKeys::best_cipher() noexcept {
  MUSUBI_CHECK(sodium_init() >= 0, "libsodium does not begin");
  return crypto_aead_aes256gcm_is_available() != 0 ? Cipher::aes256_gcm : Cipher::chacha20_poly1305;
}

LaneKeys::LaneKeys(Cipher cipher, std::span<const std::byte> secret) noexcept : cipher_(cipher) {
  crypto_hash_sha256(secret_.data(), bytes_of(secret.data()), secret.size());
}

LaneKeys::~LaneKeys() {
  sodium_memzero(secret_.data(), secret_.size());
}

LaneKeys::Key LaneKeys::key_of(const LaneName& lane, const Salt& salt) const noexcept {
  constexpr char purpose[16] = "musubi lane key";  // no other MAC with this secret has this prefix
  const std::array<std::uint32_t, 4> name{lane.from.value, lane.to.value,
                                          static_cast<std::uint32_t>(lane.lane),
                                          static_cast<std::uint32_t>(cipher_)};
  crypto_auth_hmacsha512256_state state;
  crypto_auth_hmacsha512256_init(&state, secret_.data(), secret_.size());
  crypto_auth_hmacsha512256_update(&state, bytes_of(purpose), sizeof purpose);
  crypto_auth_hmacsha512256_update(&state, bytes_of(name.data()), sizeof name);
  crypto_auth_hmacsha512256_update(&state, bytes_of(salt.data()), sizeof salt);
  Key key;
  crypto_auth_hmacsha512256_final(&state, key.data());
  sodium_memzero(&state, sizeof state);
  return key;
}

LaneSeal::~LaneSeal() {
  if (cipher_ != Cipher::none) sodium_memzero(schedule_.data(), schedule_.size());
}

void LaneSeal::begin(const LaneKeys& keys, const LaneName& lane, const LaneKeys::Salt& salt) noexcept {
  static_assert(schedule_bytes == sizeof(crypto_aead_aes256gcm_state));
  const std::array<std::uint32_t, 3> name{lane.from.value, lane.to.value,
                                          static_cast<std::uint32_t>(lane.lane)};
  lane_sum_ = os::crc32c(0, name.data(), sizeof name);
  cipher_ = keys.cipher();
  has_begun_ = true;
  if (cipher_ == Cipher::none) return;
  LaneKeys::Key key = keys.key_of(lane, salt);
  if (cipher_ == Cipher::aes256_gcm) {
    auto* const schedule = reinterpret_cast<crypto_aead_aes256gcm_state*>(schedule_.data());
    crypto_aead_aes256gcm_beforenm(schedule, key.data());
  } else {
    std::memcpy(schedule_.data(), key.data(), key.size());
  }
  sodium_memzero(key.data(), key.size());
}

RecordHead LaneSeal::head(std::size_t payload_bytes) const noexcept {
  const std::array<std::uint64_t, 2> said{sequence_, payload_bytes};
  return {static_cast<std::uint32_t>(payload_bytes), os::crc32c(lane_sum_, said.data(), sizeof said)};
}

bool LaneSeal::is_head(const RecordHead& given) const noexcept {
  return given.bytes != 0 && given.bytes <= record_payload_max && given.sum == head(given.bytes).sum;
}

void LaneSeal::close_by_sum(const RecordHead& head, std::span<const std::byte> payload,
                            std::byte* tail) noexcept {
  const std::uint32_t sum = os::crc32c(head.sum, payload.data(), payload.size());
  std::memcpy(tail, &sum, sizeof sum);
  ++sequence_;
}

void LaneSeal::close(const RecordHead& head, std::span<std::byte> payload, std::byte* tail) noexcept {
  if (cipher_ == Cipher::none) return close_by_sum(head, payload, tail);
  const Nonce nonce = nonce_of(sequence_++);
  unsigned char* const text = bytes_of(payload.data());
  if (cipher_ == Cipher::aes256_gcm) {
    crypto_aead_aes256gcm_encrypt_detached_afternm(
        text, bytes_of(tail), nullptr, text, payload.size(), bytes_of(&head), sizeof head, nullptr,
        nonce.data(), reinterpret_cast<const crypto_aead_aes256gcm_state*>(schedule_.data()));
  } else {
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(text, bytes_of(tail), nullptr, text, payload.size(),
                                                       bytes_of(&head), sizeof head, nullptr, nonce.data(),
                                                       schedule_.data());
  }
}

bool LaneSeal::open(const RecordHead& head, std::span<std::byte> payload, const std::byte* tail) noexcept {
  if (cipher_ == Cipher::none) {
    std::uint32_t sum = 0;
    std::memcpy(&sum, tail, sizeof sum);
    ++sequence_;
    return sum == os::crc32c(head.sum, payload.data(), payload.size());
  }
  const Nonce nonce = nonce_of(sequence_++);
  unsigned char* const text = bytes_of(payload.data());
  if (cipher_ == Cipher::aes256_gcm) {
    return crypto_aead_aes256gcm_decrypt_detached_afternm(
               text, nullptr, text, payload.size(), bytes_of(tail), bytes_of(&head), sizeof head,
               nonce.data(), reinterpret_cast<const crypto_aead_aes256gcm_state*>(schedule_.data())) == 0;
  }
  return crypto_aead_chacha20poly1305_ietf_decrypt_detached(text, nullptr, text, payload.size(),
                                                            bytes_of(tail), bytes_of(&head), sizeof head,
                                                            nonce.data(), schedule_.data()) == 0;
}

}  // namespace musubi::fabric
