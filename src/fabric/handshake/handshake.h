// What two ranks say before anything else. The rank that asks begins:
//
//   hello    who asks whom, with what version and build, and a nonce
//   answer   the other rank's nonce, and its proof
//   proof    of the rank that asks
//   welcome  the other rank has checked it; requests follow
//
// A proof is a MAC, by the job's secret, over the side that makes it and all that was said before. So it
// holds for this connection alone, and for nobody in between who changed a byte. Neither side takes anything
// else before it has checked the other's proof. No I/O here; allocates nothing, signal-safe.
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
using Build = std::array<std::byte, build_bytes>;  // shorter ones end in zeros
using Nonce = std::array<std::byte, 32>;
using Proof = std::array<std::byte, 32>;

struct Hello {
  std::array<char, 8> mark{'m', 'u', 's', 'u', 'b', 'i', '\r', '\n'};
  std::uint32_t version = protocol_version;
  std::uint32_t ranks = 0;
  std::uint32_t from = 0, to = 0;
  std::uint32_t attempt = 0, unused = 0;  // of this rank to ask that one: 1, 2, ...
  Build build{};
  Nonce nonce{};
};
static_assert(sizeof(Hello) == 88);

struct Answer {
  Nonce nonce{};
  Proof proof{};
};
static_assert(sizeof(Answer) == 64);

// Where messages do not say it otherwise.
struct Welcome {
  char mark = 'w';
  bool operator==(const Welcome&) const = default;
};

// Whose MAC: of the proof, or of the tag that messages carry where there is no connection to carry them.
enum class Side : std::uint8_t { asks, answers, asks_tag, answers_tag };

// Nonces of the side that answers, if it wants to keep nothing of a hello: the same hello gets the same
// nonce, from this object, and nobody else can tell which.
class Nonces {
 public:
  // Fails where the kernel gives no random bytes.
  bool prepare() noexcept;
  ~Nonces();
  Nonce of(const Hello& hello) const noexcept;

 private:
  std::array<unsigned char, 32> key_{};
};

// Of secrets and what proves them, of equal length: takes the same time whatever differs.
bool is_equal(std::span<const std::byte> one, std::span<const std::byte> other) noexcept;

// One job, seen from one rank.
class Handshake {
 public:
  // Of `build` the first build_bytes count. `secret` is copied.
  Handshake(Rank self, std::uint32_t ranks, std::string_view build, std::span<const std::byte> secret);
  // Wipes the secret.
  ~Handshake();
  Handshake(const Handshake&) = delete;

  Hello hello_to(Rank peer, const Nonce& nonce, std::uint32_t attempt = 1) const noexcept;
  // Result: what is wrong with a hello to this rank, before any proof; null: nothing.
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
