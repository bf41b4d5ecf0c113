// A transport over another one that sends bytes in sealed records (lane_seal.h). The engine above receives
// only checked bytes. A peer whose bytes are damaged is closed, and lost with Loss::Kind::damaged.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/active_messages/transport.h"
#include "fabric/seal/lane_seal.h"
#include "os/memory.h"

namespace musubi::fabric {

class SealedTransport final : public Transport, private Receiver {
 public:
  // All ranks use the same cipher; without one records have checksums. `secret`: the job's, used with a
  // cipher. `below` outlives this.
  SealedTransport(Transport& below, Cipher cipher, std::span<const std::byte> secret);

  Rank self() const noexcept override { return below_.self(); }
  std::uint32_t ranks() const noexcept override { return below_.ranks(); }
  std::size_t send(Rank peer, Lane lane, std::span<const Piece> pieces) noexcept override;
  // Moves are checked only by the network itself, and refused with a cipher.
  bool begin_move(Rank peer, const Step& step, void* token) noexcept override {
    return keys_.cipher() == Cipher::none && below_.begin_move(peer, step, token);
  }
  std::size_t move_bytes_min() const noexcept override {
    return keys_.cipher() == Cipher::none ? below_.move_bytes_min() : SIZE_MAX;
  }
  Polled poll(Receiver& receiver) noexcept override;
  void sleep(Sleeper sleeper) noexcept override { below_.sleep(sleeper); }
  void wake(Sleeper sleeper) noexcept override { below_.wake(sleeper); }
  void set_attended(bool attended) noexcept override { below_.set_attended(attended); }
  int rope(Sleeper sleeper) const noexcept override { return below_.rope(sleeper); }
  std::string way_to(Rank peer) const override { return below_.way_to(peer); }
  void close(Rank peer) noexcept override;

 private:
  // The record being sent. Its payload is in `bytes`, or still at the engine.
  struct Leaving {
    LaneSeal seal;
    std::byte* bytes = nullptr;
    std::size_t front = 0;    // bytes before the payload: salt and head
    std::size_t payload = 0;  // 0: no record is under way
    bool is_here = false;     // `bytes` holds front, payload and tail; else front and tail
    std::size_t sent = 0;     // taken by the transport below
    // Orders the last look at the program's memory before the thread that receives the reply, after which the
    // program may free it.
    std::atomic<std::uint64_t> copies{0};
  };
  struct Coming {
    LaneSeal seal;
    std::byte* bytes = nullptr;
    std::size_t begin = 0, end = 0;  // not used yet
    std::size_t checked = 0;         // of these, payload for the engine
  };
  struct Peer {
    Leaving leaving[lane_count];
    Coming coming[lane_count];
    bool is_shut = false;  // polling thread only
  };

  static std::size_t index(Lane lane) noexcept { return static_cast<std::size_t>(lane); }
  Leaving& leaving(Rank peer, Lane lane) noexcept { return peers_[peer.value].leaving[index(lane)]; }
  Coming& coming(Rank peer, Lane lane) noexcept { return peers_[peer.value].coming[index(lane)]; }

  void begin_record(Rank peer, Lane lane, std::span<const Piece> pieces, std::size_t skip) noexcept;
  bool send_record(Rank peer, Lane lane, std::span<const Piece> pieces, std::size_t skip) noexcept;
  bool deliver(Rank peer, Lane lane) noexcept;
  enum class Opened : std::uint8_t { record, nothing, damaged };
  Opened open_next(Rank peer, Lane lane, Coming& coming) noexcept;
  std::size_t hand_on(Rank peer, Lane lane, Coming& coming) noexcept;
  static void make_room(Coming& coming) noexcept;
  void find_damaged(Rank peer) noexcept;

  std::size_t places(Rank from, Lane lane, std::span<Place, places_max> places) noexcept override;
  void received(Rank from, Lane lane, std::size_t bytes) noexcept override;
  void writable(Rank peer, Lane lane) noexcept override { receiver_->writable(peer, lane); }
  void lost(Rank peer, Loss loss) noexcept override;
  void has_moved(void* token) noexcept override { receiver_->has_moved(token); }

  Transport& below_;
  const LaneKeys keys_;
  os::Mapping memory_;
  std::vector<Peer> peers_;
  std::vector<std::uint64_t> held_;  // lanes with checked, undelivered bytes, a bit each
  Receiver* receiver_ = nullptr;     // of the current poll()
};

}  // namespace musubi::fabric
