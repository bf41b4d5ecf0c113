// Connects ranks by TCP: a listening socket, accepted and outgoing connections, and a timer for their
// timeouts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "fabric/sockets/joiner.h"
#include "fabric/tcp/calls.h"
#include "fabric/tcp/guests.h"
#include "fabric/tcp/tcp.h"

namespace musubi::fabric::tcp {

class TcpJoiner final : public Joiner {
 public:
  // `addresses` are by rank, at least one for each peer.
  static Result<std::unique_ptr<TcpJoiner>> create(Rank self, os::FileDescriptor listening,
                                                   std::vector<std::vector<os::SocketAddress>> addresses,
                                                   const TcpOptions& options);
  // Nothing listens afterwards, even if another process has inherited the socket.
  ~TcpJoiner() override;

  void call(Rank peer) noexcept override;
  int number() const noexcept override { return set_.number(); }
  std::string tried(Rank peer) const override { return calls_.tried(peer); }
  void work(Joined& joined) noexcept override;

 private:
  TcpJoiner(Rank self, os::FileDescriptor listening, os::ReadySet set, os::WakeupPipe bell, os::Timer timer,
            std::vector<std::vector<os::SocketAddress>> addresses, const TcpOptions& options);
  void begin_calls(Joined& joined) noexcept;
  void let_in(Joined& joined) noexcept;
  void set_clock() noexcept;

  const Handshake handshake_;
  Complaints complaints_;
  const os::FileDescriptor listening_;
  const os::ReadySet set_;
  const os::WakeupPipe bell_;  // rings when calls are wanted
  const os::Timer timer_;
  Guests guests_;
  Calls calls_;
  std::vector<std::atomic<std::uint64_t>> wanted_;  // a bit per peer
  bool door_is_shut_ = false;                       // no more open files: until the next tick
  bool clock_runs_ = false;
};

}  // namespace musubi::fabric::tcp
