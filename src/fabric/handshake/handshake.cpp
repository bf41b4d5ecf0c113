#include "fabric/handshake/handshake.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "os/tcp.h"

namespace musubi::fabric::handshake {
namespace {

// None of the libsodium functions used here needs sodium_init, which opens files.
static_assert(crypto_auth_hmacsha512256_BYTES == sizeof(Proof));

const unsigned char* bytes_of(const void* object) noexcept {
  return static_cast<const unsigned char*>(object);
}

}  // namespace

bool Nonces::prepare() noexcept {
  return os::random_bytes(key_.data(), key_.size());
}

Nonces::~Nonces() {
  sodium_memzero(key_.data(), key_.size());
}

Nonce Nonces::of(const Hello& hello) const noexcept {
  Nonce nonce;
  crypto_auth_hmacsha512256(reinterpret_cast<unsigned char*>(nonce.data()), bytes_of(&hello), sizeof hello,
                            key_.data());
  return nonce;
}

Handshake::Handshake(Rank self, std::uint32_t ranks, std::string_view build,
                     std::span<const std::byte> secret)
    : self_(self), ranks_(ranks) {
  std::memcpy(build_.data(), build.data(), std::min(build.size(), build_.size()));
  static_assert(crypto_hash_sha256_BYTES == key_bytes);
  crypto_hash_sha256(key_.data(), bytes_of(secret.data()), secret.size());
}

Handshake::~Handshake() {
  sodium_memzero(key_.data(), key_.size());
}

Hello Handshake::hello_to(Rank peer, const Nonce& nonce, std::uint32_t attempt) const noexcept {
  Hello hello;
  hello.ranks = ranks_;
  hello.from = self_.value;
  hello.to = peer.value;
  hello.attempt = attempt;
  hello.build = build_;
  hello.nonce = nonce;
  return hello;
}

const char* Handshake::objection_to(const Hello& hello) const noexcept {
  if (hello.mark != Hello{}.mark) return "it does not speak Musubi's protocol";
  if (hello.version != protocol_version || hello.build != build_) {
    return "it is of another version or build of Musubi";
  }
  if (hello.ranks != ranks_ || hello.to != self_.value || hello.from >= ranks_ || hello.from == self_.value) {
    return "it looks for a rank of another job";
  }
  return nullptr;
}

Proof Handshake::prove(Side side, const Hello& hello, const Nonce& answer) const noexcept {
  crypto_auth_hmacsha512256_state state;
  crypto_auth_hmacsha512256_init(&state, key_.data(), key_.size());
  crypto_auth_hmacsha512256_update(&state, bytes_of(&side), sizeof side);
  crypto_auth_hmacsha512256_update(&state, bytes_of(&hello), sizeof hello);
  crypto_auth_hmacsha512256_update(&state, bytes_of(&answer), sizeof answer);
  Proof proof;
  crypto_auth_hmacsha512256_final(&state, reinterpret_cast<unsigned char*>(proof.data()));
  sodium_memzero(&state, sizeof state);
  return proof;
}

bool is_equal(std::span<const std::byte> one, std::span<const std::byte> other) noexcept {
  return one.size() == other.size() && sodium_memcmp(one.data(), other.data(), one.size()) == 0;
}

bool Handshake::is_proof(const Proof& given, Side side, const Hello& hello,
                         const Nonce& answer) const noexcept {
  const Proof right = prove(side, hello, answer);
  return is_equal(std::as_bytes(std::span(given)), std::as_bytes(std::span(right)));
}

}  // namespace musubi::fabric::handshake
