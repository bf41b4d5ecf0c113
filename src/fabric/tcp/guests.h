// Connections that have come and have not proved yet that they are of this job. A bounded number: one more
// takes the place of the least promising, after what this one has sent was read. One that has said nothing is
// less promising than one that began to say hello, and this one less than one whose hello was right; among
// equal ones those of the address that most of them come from, and of these the oldest.
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

  // Takes a connection in, and hears what has come; it is in the set then, as `first_data` and its place.
  void enter(int socket, const os::SocketAddress& from, std::uint64_t first_data, Joined& joined) noexcept;
  // Something came from the guest at this place, or nothing: then nothing happens.
  void hear(std::size_t place, Joined& joined) noexcept;
  // Sends those away whose time is up: that for the hello, or that for the proof behind the answer.
  void look_at_clock(Joined& joined) noexcept;
  bool empty() const noexcept { return count_ == 0; }

 private:
  enum class Said : std::uint8_t { nothing, a_part, hello };
  struct Guest {
    int socket = -1;
    std::uint64_t leaves_ns = 0;
    os::SocketAddress from;
    std::size_t held = 0;  // bytes of what is read now
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
