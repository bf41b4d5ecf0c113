// Connections that this rank makes, to ask peers: tries the addresses of a peer in turn until one of them
// proves that it is this rank of this job, or patience ends.
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
class Calls {
 public:
  struct Patience {
    std::uint64_t connect_ns, handshake_ns, all_ns;
  };

  // `addresses` are by rank.
  Calls(const Handshake& handshake, Complaints& complaints, const os::ReadySet& set,
        std::vector<std::vector<os::SocketAddress>> addresses, Patience patience);
  ~Calls();
  Calls(const Calls&) = delete;

  // Begins; sockets are in the set as `first_data` and the rank.
  void begin(Rank peer, std::uint64_t first_data) noexcept;
  // The socket of the call to this peer is ready.
  void go_on(Rank peer, std::uint32_t events, Joined& joined) noexcept;
  // Gives up, and tries again, what has waited long enough.
  void look_at_clock(Joined& joined) noexcept;
  bool empty() const noexcept { return count_ == 0; }

 private:
  enum class State : std::uint8_t { none, resting, connecting, awaiting_answer };
  struct Call {
    State state = State::none;
    int socket = -1;
    unsigned attempt = 0;
    unsigned failed = 0;                         // which attempt, last
    const char* reason = nullptr;                // of that
    std::uint64_t data = 0;                      // in the set
    std::uint64_t next_ns = 0, gives_up_ns = 0;  // when this attempt or rest ends; when all do
    std::size_t held = 0;                        // bytes of the answer
    Hello hello;
    Answer answer;
  };

  const os::SocketAddress& address(Rank peer, unsigned attempt) const noexcept;
  void attempt(Rank peer) noexcept;
  void greet(Rank peer) noexcept;
  void hear(Rank peer, Joined& joined) noexcept;
  void fail(Rank peer, const char* reason) noexcept;
  void rest(Rank peer) noexcept;
  int hang_up(Call& call) noexcept;

  const Handshake& handshake_;
  Complaints& complaints_;
  const os::ReadySet& set_;
  const std::vector<std::vector<os::SocketAddress>> addresses_;
  const Patience patience_;
  std::vector<Call> calls_;
  std::size_t count_ = 0;
};

}  // namespace musubi::fabric::tcp
