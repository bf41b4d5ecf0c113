// Connections that have come and have not proved yet that they are of this job. A bounded number: one more
// takes the place of the oldest, so that silent strangers keep nobody out.
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

// One thread at a time; signal-safe after the constructor.
class Guests {
 public:
  Guests(const Handshake& handshake, Complaints& complaints, const os::ReadySet& set, std::size_t places,
         std::uint64_t patience_ns);
  ~Guests();
  Guests(const Guests&) = delete;

  // Takes a connection in; it is in the set then, as `first_data` and its place.
  void enter(int socket, const os::SocketAddress& from, std::uint64_t first_data) noexcept;
  // Something came from the guest at this place, or nothing: then nothing happens.
  void hear(std::size_t place, Joined& joined) noexcept;
  // Sends those away whose time is up: that for the hello, or that for the proof behind the answer.
  void look_at_clock(Joined& joined) noexcept;
  bool empty() const noexcept { return count_ == 0; }

 private:
  struct Guest {
    int socket = -1;
    std::uint64_t leaves_ns = 0;
    os::SocketAddress from;
    std::size_t held = 0;  // bytes of what is read now
    bool answered = false;
    Hello hello;
    Nonce nonce{};
    Proof proof{};
  };

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
