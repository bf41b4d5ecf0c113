// A transport over a network of messages. Two lines lead to each peer, one on which this rank asks and one on
// which the peer asks; each is opened on first use, by a mutual handshake with the job's secret. Each lane
// has a window of messages under way, so a blocked lane takes no parcel that another one needs.
//
// A rank is lost when the network reports its failure after a message from it has arrived on a line. Before
// that, a failed message is an attempt, which is repeated. A peer to which nothing else is sent is probed
// once a second, by a message without an answer: so a stopped rank survives, and a dead one is detected.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.h"
#include "fabric/active_messages/transport.h"
#include "fabric/handshake/complaints.h"
#include "fabric/handshake/handshake.h"
#include "fabric/messages/net.h"
#include "fabric/messages/peer_session.h"

namespace musubi::fabric {

struct MessageOptions {
  std::span<const std::byte> secret;           // the same at all ranks, and known only to them; copied
  std::string_view build;                      // must be equal at all ranks; copied
  std::chrono::milliseconds reach_max{20000};  // to reach a peer, including retries
  handshake::Log* log = nullptr;               // outlives the transport
};

class MessageTransport final : public Transport, private ParcelReceiver {
 public:
  static Result<std::unique_ptr<MessageTransport>> create(std::unique_ptr<MessageNet> net,
                                                          const MessageOptions& options);

  Rank self() const noexcept override { return net_->self(); }
  std::uint32_t ranks() const noexcept override { return net_->ranks(); }
  std::size_t send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept override;
  // Only with peers whose line is open: they know the secret, and are probed.
  bool begin_move(Rank peer, const Step& step, void* token) noexcept override {
    return line({peer, true}).state.load() == SessionState::joined && net_->begin_move(peer, step, token);
  }
  std::size_t move_bytes_min() const noexcept override { return net_->move_bytes_min(); }
  Polled poll(Receiver& receiver) noexcept override;
  void sleep(Sleeper sleeper) noexcept override;
  void wake(Sleeper sleeper) noexcept override { net_->wake(sleeper); }
  int rope(Sleeper sleeper) const noexcept override { return net_->rope(sleeper); }
  std::string way_to(Rank) const override { return "by " + std::string(net_->name()); }
  void close(Rank peer) noexcept override;

  // The number of open lines. Any thread.
  std::uint32_t lines() const noexcept;

 private:
  // Identifies a line.
  struct Name {
    Rank peer;
    bool asks = false;  // this rank is the asking side
  };

  MessageTransport(std::unique_ptr<MessageNet> net, const MessageOptions& options);
  static std::uint32_t index(Name name) noexcept { return 2 * name.peer.value + (name.asks ? 1 : 0); }
  static Name name_of(std::uint32_t index) noexcept { return {Rank{index / 2}, index % 2 != 0}; }
  PeerSession& line(Name name) noexcept { return lines_[index(name)]; }
  bool open_group(Name name) noexcept;

  void call(Rank peer) noexcept;
  void send_head(Name name, MessageNet::Purpose purpose) noexcept;
  template <typename Message>
  void send_to(Rank peer, SendWindow& from, const Message& message) noexcept;
  MessageHead head_of(MessageForm form, bool asks) const noexcept;
  MessageHead head_on(PeerSession& line, MessageForm form, bool asks) const noexcept;
  void post(Rank peer, SendWindow& from, Parcel& parcel, std::size_t bytes,
            MessageNet::Purpose purpose) noexcept;

  void arrived(Parcel& parcel, std::size_t bytes) noexcept override;
  void refused(const char* reason) noexcept override { complaints_.refused_message(net_->name(), reason); }
  void sent(Parcel& parcel) noexcept override;
  void failed(Rank peer) noexcept override;
  void lose(Rank peer, Loss loss) noexcept;
  void has_moved(void* token) noexcept override { receiver_->has_moved(token); }
  const char* use(Parcel& parcel, std::size_t bytes, bool& is_kept) noexcept;
  const char* use_of_line(Name name, const MessageHead& head, Parcel& parcel, std::size_t bytes,
                          bool& is_kept) noexcept;
  const char* take_hello(const HelloMessage& message) noexcept;
  const char* take_answer(const AnswerMessage& message) noexcept;
  const char* take_proof(const ProofMessage& message) noexcept;
  void join(Name name, const handshake::Hello& hello, const handshake::Nonce& nonce) noexcept;
  bool deliver(Name name) noexcept;
  bool deliver_held() noexcept;
  void tell_used(Name name) noexcept;
  void look_at_clock() noexcept;
  void look_at_line(Name name, std::uint64_t now) noexcept;

  const std::unique_ptr<MessageNet> net_;
  const handshake::Handshake handshake_;
  handshake::Nonces nonces_;
  handshake::Complaints complaints_;
  const std::uint64_t reach_max_ns_;
  std::vector<PeerSession> lines_;
  SendWindow answers_;                            // of group 0
  std::vector<std::atomic<std::uint64_t>> held_;  // lines with undelivered bytes, a bit each
  std::atomic<std::uint32_t> lines_begun_{0};
  std::uint64_t next_tick_ns_ = 0;
  Receiver* receiver_ = nullptr;  // of the current poll()
};

}  // namespace musubi::fabric
