// Accepted connections that have not proved yet that they belong to this job. Their number is bounded: a new
// guest replaces the least promising guest, after its input was read. A guest that has sent nothing is the
// least promising, then one that has sent a part of a hello, then one with a valid hello. Among equals it is
// a guest of the most frequent address, and among these the oldest.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/handshake/complaints.h"
#include "fabric/handshake/handshake.h"
#include "fabric/sockets/joiner.h"
#include "os/sockets.h"
#include "os/tcp.h"

namespace musubi::fabric::tcp {

using handshake::Answer;
using handshake::Complaints;
using handshake::Handshake;
using handshake::Hello;
using handshake::Nonce;
using handshake::Proof;
using handshake::Side;
using handshake::Welcome;

// One thread at a time; signal-safe after the constructor.
class Guests {
 public:
  Guests(const Handshake& handshake, Complaints& complaints, const os::ReadySet& set, std::size_t places,
         std::uint64_t patience_ns);
  ~Guests();
  Guests(const Guests&) = delete;

  // Takes over a connection and reads its input; adds it to the set as `first_data` plus its place.
  void enter(int socket, const os::SocketAddress& from, std::uint64_t first_data, Joined& joined) noexcept;
  // Reads input of the guest at this place, if any.
  void hear(std::size_t place, Joined& joined) noexcept;
  // Refuses guests that exceed the time for the hello, or for the proof after the answer.
  void look_at_clock(Joined& joined) noexcept;
  bool empty() const noexcept { return count_ == 0; }

 private:
  enum class Said : std::uint8_t { nothing, a_part, hello };
  struct Guest {
    int socket = -1;
    std::uint64_t leaves_ns = 0;
    os::SocketAddress from;
    std::size_t held = 0;  // bytes of the object being read
    Said said = Said::nothing;
    Hello hello;
    Nonce nonce{};
    Proof proof{};
  };

  std::size_t make_place(Joined& joined) noexcept;
  std::size_t least_promising() const noexcept;
  void take(Guest& guest, Joined& joined) noexcept;
  bool read(Guest& guest, void* to, std::size_t bytes) noexcept;
  bool answer(Guest& guest) noexcept;
  void refuse(Guest& guest, const char* reason) noexcept;
  int leave(Guest& guest) noexcept;

  const Handshake& handshake_;
  Complaints& complaints_;
  const os::ReadySet& set_;
  const std::uint64_t patience_ns_;
  std::vector<Guest> guests_;
  std::size_t count_ = 0;
};

}  // namespace musubi::fabric::tcp
