// A transport over connected stream sockets, two per pair of ranks: each rank asks on one and replies on the
// other. They are given at the start, or made by a joiner on first use.
//
// Sets of sockets (epoll): `arrivals_` holds the sockets that poll() may read. Each of the two sleepers has
// its own set, which reports each arrival once. A request is reported to the waiter if it sleeps, otherwise
// to the service thread: `requests_` is in the service thread's set, but disabled while a thread polls for
// requests. `openings_` tells which lanes take bytes again. The sets of both sleepers contain it, the joiner,
// and the timers, which trigger checks for silent peers and for peers with one ended connection
// (peer_life.h).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "fabric/active_messages/transport.h"
#include "fabric/sockets/joiner.h"
#include "fabric/sockets/peer_life.h"
#include "os/sockets.h"
#include "os/tcp.h"

namespace musubi::fabric {

class SocketTransport final : public Transport, private Joined {
 public:
  // The sockets of one peer; none for this rank itself.
  struct Sockets {
    os::FileDescriptor asking;     // this rank sends requests, and receives the replies
    os::FileDescriptor answering;  // the reverse
  };

  // Connects all peers. The sockets are non-blocking.
  static Result<std::unique_ptr<SocketTransport>> create(Rank self, std::vector<Sockets> peers);
  struct Patience {
    std::chrono::milliseconds silence_max, idle_max, reach_max;
  };
  // Connects no peer: the joiner does. A peer is lost if its kernel does not answer for `silence_max`, or up
  // to a quarter longer; a stopped peer is not. No connection is idle for longer than `idle_max`.
  // `reach_max`: how long a peer that left after its welcome, without a request, may take to come back.
  static Result<std::unique_ptr<SocketTransport>> create(Rank self, std::uint32_t ranks,
                                                         std::unique_ptr<Joiner> joiner, Patience patience);

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return static_cast<std::uint32_t>(peers_.size()); }
  std::size_t send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept override;
  Polled poll(Receiver& receiver) noexcept override;
  void sleep(Sleeper sleeper) noexcept override;
  void set_attended(bool attended) noexcept override;
  void wake(Sleeper sleeper) noexcept override { bells_[index(sleeper)].ring(); }
  void close(Rank peer) noexcept override;
  int rope(Sleeper sleeper) const noexcept override { return bells_[index(sleeper)].write_end(); }
  std::string way_to(Rank peer) const override;

  // The number of joined sockets that have not ended. Any thread.
  std::uint32_t connections() const noexcept;
  // Those that the kernel probes often while they are idle. Not while another thread polls.
  std::uint32_t watched_while_idle() const noexcept;

 private:
  static constexpr unsigned looks_per_silence = 4;

  using Verdict = PeerLife::Verdict;
  // Identifies a socket.
  struct Name {
    Rank peer;
    bool asking = false;
  };
  // The state of a connection for the threads that send and receive.
  enum class Line : std::uint8_t { none, called, joined, ended };
  // How the polling thread detects that the other end is silent.
  struct Watch {
    os::SocketAddress at;         // of the other end
    std::uint8_t unanswered = 0;  // consecutive polls without an answer
    bool while_idle = false;      // the kernel probes it often while it is idle
  };
  struct Peer {
    Sockets sockets;
    std::atomic<Line> asking{Line::none}, answering{Line::none};
    std::atomic<int> error{0};  // reported to a sender by the kernel, once
    PeerLife life;              // polling thread only, like the members below
    Watch watch_asking, watch_answering;
    os::SocketAddress at;  // the peer's address
    bool is_unreachable = false;

    std::atomic<Line>& line(Name name) noexcept { return name.asking ? asking : answering; }
    Watch& watch(Name name) noexcept { return name.asking ? watch_asking : watch_answering; }
  };

  SocketTransport(Rank self, std::uint32_t ranks, std::unique_ptr<Joiner> joiner);
  static std::size_t index(Sleeper sleeper) noexcept { return static_cast<std::size_t>(sleeper); }
  static std::uint64_t encode(Name name) noexcept {
    return std::uint64_t{name.peer.value} << 1 | name.asking;
  }
  static Name decode(std::uint64_t data) noexcept {
    return {Rank{static_cast<std::uint32_t>(data >> 1)}, (data & 1) != 0};
  }

  Result<void> make_sets();
  Result<void> watch_silence();
  Result<void> make_timer(os::Timer& timer, std::uint64_t data);
  bool enter_sets(Name name) noexcept;
  void note_requests() noexcept;
  void note_told(std::span<const epoll_event> events) noexcept;
  Verdict joined(Rank peer, bool asking, int socket, std::uint32_t attempt) noexcept override;
  void take(Name name, int socket) noexcept;
  void unreachable(Rank peer, const char* reason) noexcept override;
  int socket_of(Name name) const noexcept;
  std::atomic<Line>& line(Name name) noexcept { return peers_[name.peer.value].line(name); }
  void end(Name name) noexcept;
  void leave_sets(Name name) noexcept;
  void forget(Name name) noexcept;
  void ended(Receiver& receiver, Name name, int error) noexcept;
  void lose(Receiver& receiver, Rank peer, Loss loss) noexcept;
  void look_at_deadlines(Receiver& receiver) noexcept;
  void look_for_silent(Receiver& receiver) noexcept;
  bool is_silent(Name name) noexcept;
  void keep_alive(Name name) const noexcept;
  void watch_while_idle(const os::SocketAddress& at) noexcept;
  Polled poll_some(Receiver& receiver) noexcept;
  bool open_lanes(Receiver& receiver) noexcept;
  Polled receive_told(Receiver& receiver) noexcept;
  bool looks_at_recent() noexcept;
  Polled receive(Receiver& receiver, Name name) noexcept;

  const Rank self_;
  std::vector<Peer> peers_;
  os::ReadySet arrivals_, openings_, requests_;
  os::ReadySet sleeping_[2];                      // by Sleeper
  os::WakeupPipe bells_[2];                       // by Sleeper
  std::vector<std::atomic<std::uint64_t>> told_;  // a bit per socket, by encode()
  std::atomic<bool> told_of_others_{false};       // a sleep was ended by the joiner or a timer
  // Polling thread only: whether the last poll() left arrivals, the socket that received last, and whether
  // the last poll() checked only that one.
  bool unfinished_ = false;
  Name recent_{};
  bool looked_at_recent_ = false;
  const std::unique_ptr<Joiner> joiner_;  // null: all peers are connected
  Receiver* receiver_ = nullptr;          // of the current poll()
  std::atomic<std::uint32_t> full_lanes_{0};
  os::Timer deadline_timer_;  // runs while a peer has a deadline
  os::Timer silence_timer_;   // with a joiner
  Patience patience_{};       // with a joiner
};

}  // namespace musubi::fabric
