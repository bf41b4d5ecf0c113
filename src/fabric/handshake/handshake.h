// The first messages between two ranks. The rank that asks begins:
//
// hello    both ranks, version and build of the rank that asks, and a nonce
// answer   the other rank's nonce and proof
// proof    of the rank that asks
// welcome  the other rank has checked it; requests follow
//
// A proof is a MAC, keyed by the job's secret, over the side that makes it and all previous messages. So it
// is valid for this connection only, and fails if any byte was changed on the way. Neither side accepts other
// data before it has checked the other's proof. No I/O here; allocates nothing, signal-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/ids.h"

namespace musubi::fabric::handshake {

inline constexpr std::uint32_t protocol_version = 2;
inline constexpr std::size_t build_bytes = 24;
using Build = std::array<std::byte, build_bytes>;  // padded with zeros
using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

struct Hello {
  std::array<char, 8> mark{'m', 'u', 's', 'u', 'b', 'i', '\r', '\n'};
  std::uint32_t version = protocol_version;
  std::uint32_t ranks = 0;
  std::uint32_t from = 0, to = 0;
  std::uint32_t attempt = 0, unused = 0;  // number of the asking rank's attempt: 1, 2, ...
  Build build{};
  Nonce nonce{};
};
static_assert(sizeof(Hello) == 88);

struct Answer {
  Nonce nonce{};
  Proof proof{};
};
static_assert(sizeof(Answer) == 64);

// The welcome on connections; messages have another form for it.
struct Welcome {
  char mark = 'w';
  bool operator==(const Welcome&) const = default;
};

// The purpose of a MAC: a side's proof, or the tag of its messages where there is no connection.
enum class Side : std::uint8_t { asks, answers, asks_tag, answers_tag };

// Nonces of an answering side that keeps no state per hello: equal hellos get equal nonces from one object,
// and they are unpredictable for everyone else.
class Nonces {
 public:
  // Fails if the kernel provides no random bytes.
  bool prepare() noexcept;
  ~Nonces();
  Nonce of(const Hello& hello) const noexcept;

 private:
  std::array<unsigned char, 32> key_{};
};

// Compares secrets or proofs of equal length in constant time.
bool is_equal(std::span<const std::byte> one, std::span<const std::byte> other) noexcept;

// The handshake of one job, seen from one rank.
class Handshake {
 public:
  // The first build_bytes of `build` count. `secret` is copied.
  Handshake(Rank self, std::uint32_t ranks, std::string_view build, std::span<const std::byte> secret);
  // Wipes the secret.
  ~Handshake();
  Handshake(const Handshake&) = delete;

  Hello hello_to(Rank peer, const Nonce& nonce, std::uint32_t attempt = 1) const noexcept;
  // Result: the objection to a hello to this rank, before any proof; null: none.
  const char* objection_to(const Hello& hello) const noexcept;
  Proof prove(Side side, const Hello& hello, const Nonce& answer) const noexcept;
  bool is_proof(const Proof& given, Side side, const Hello& hello, const Nonce& answer) const noexcept;

 private:
  static constexpr std::size_t key_bytes = 32;

  const Rank self_;
  const std::uint32_t ranks_;
  Build build_{};
  std::array<unsigned char, key_bytes> key_{};
};

}  // namespace musubi::fabric::handshake
