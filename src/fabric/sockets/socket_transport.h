// A transport over connected stream sockets, two per pair of ranks: on one the first of them asks and the
// other replies, on the other the reverse. They are given at the start, or made by a joiner when they are
// first used.
//
// Sets of sockets (epoll): `arrivals_` says what poll() has to receive. The two sleepers have sets of their
// own, which tell of each arrival once, and of a request to a waiter if one sleeps, otherwise to the service
// thread: `requests_` is ready inside its set, but not while a thread looks for requests by itself.
// `openings_` says which lanes take bytes again; it is ready inside the sets of both sleepers, as is what the
// joiner has to do, and the timers: for looks at silent peers, and for peers one of whose connections has
// ended (peer_life.h).
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
  // Of one peer; without sockets at the own rank.
  struct Sockets {
    os::FileDescriptor asking;     // this rank sends requests, and receives the replies
    os::FileDescriptor answering;  // the reverse
  };

  // All peers are joined. The sockets do not block.
  static Result<std::unique_ptr<SocketTransport>> create(Rank self, std::vector<Sockets> peers);
  struct Patience {
    std::chrono::milliseconds silence_max, idle_max, reach_max;
  };
  // No peer is, until the joiner does it. A peer is lost whose kernel answers nothing for `silence_max`, or a
  // quarter more. A peer that is stopped is not. No connection is idle for longer than `idle_max`.
  // `reach_max`: for how long a peer that was welcomed, and went without a request, may come back.
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
  int rope(Sleeper sleeper) const noexcept override { return bells_[index(sleeper)].rope(); }
  std::string way_to(Rank peer) const override;

  // Sockets that are joined and have not ended. Any thread.
  std::uint32_t connections() const noexcept;
  // Those of them over which the kernel asks while they are idle. Not while another thread polls.
  std::uint32_t watched_while_idle() const noexcept;

 private:
  static constexpr unsigned looks_per_silence = 4;

  using Verdict = PeerLife::Verdict;
  // A socket: which one.
  struct Name {
    Rank peer;
    bool asking = false;
  };
  // A connection, as those see it that send and receive.
  enum class Line : std::uint8_t { none, called, joined, ended };
  // How the thread that polls finds out that the other end is silent.
  struct Watch {
    os::SocketAddress at;         // of the other end
    std::uint8_t unanswered = 0;  // looks in a row that found no answer
    bool while_idle = false;      // the kernel asks while nothing is under way
  };
  struct Peer {
    Sockets sockets;
    std::atomic<Line> asking{Line::none}, answering{Line::none};
    std::atomic<int> error{0};  // which the kernel told a sender, and tells once
    PeerLife life;              // by the thread that polls; so is the rest
    Watch watch_asking, watch_answering;
    os::SocketAddress at;  // where the peer is
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
  os::Bell bells_[2];                             // by Sleeper
  std::vector<std::atomic<std::uint64_t>> told_;  // a bit per socket, by encode()
  std::atomic<bool> told_of_others_{false};       // a sleep was ended by the joiner, or by the timer
  // By the thread that polls: the last poll() left something; the socket that brought bytes last, and whether
  // the last poll() looked at that one alone.
  bool unfinished_ = false;
  Name recent_{};
  bool looked_at_recent_ = false;
  const std::unique_ptr<Joiner> joiner_;  // null: all are joined
  Receiver* receiver_ = nullptr;          // of the poll() that is going on
  std::atomic<std::uint32_t> full_lanes_{0};
  os::Timer deadline_timer_;  // rings while a peer has a deadline
  os::Timer silence_timer_;   // with a joiner
  Patience patience_{};       // with a joiner
};

}  // namespace musubi::fabric
