// Request lanes, receiving side: carries out batches on the regions of this rank as their bytes arrive, and
// sends the replies. Results wait in a buffer per peer. While it is full nothing more is received from this
// peer, whose lane then fills up.
//
// Memory that other threads access concurrently is copied word by word, into the buffer and out of it: a
// system call that copies tears words (docs/decisions/fabric.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/active_messages/transport.h"
#include "fabric/active_messages/wire.h"
#include "fabric/fabric.h"
#include "fabric/memory/steps.h"
#include "os/memory.h"

namespace musubi::fabric {

// One thread at a time, inside Transport::poll; signal-safe.
class Server {
 public:
  Server(Transport& transport, const Target& own);

  void listen(MessageKind kind, Listener* listener) noexcept {
    listeners_[static_cast<std::size_t>(kind)] = listener;
  }

  // As Receiver::places.
  std::size_t places(Rank from, std::span<Place, places_max> places) noexcept;
  // Both return null, or the objection to a request; nothing more is received from this peer after that.
  const char* received(Rank from, std::size_t bytes) noexcept;
  const char* writable(Rank peer) noexcept;

  // Passes a message to its listener. Result: the listener's. REQUIRES: there is one.
  const char* deliver(Rank from, MessageKind kind, std::span<const std::byte> body) noexcept;

 private:
  enum class Progress : std::uint8_t { again, needs_input, needs_room, refused };

  struct Client {
    std::byte* input = nullptr;
    std::size_t begin = 0, end = 0;  // bytes in `input` that are not used yet
    std::byte* reply = nullptr;
    std::size_t sent = 0, filled = 0;  // bytes in `reply`: taken by the transport, and all
    bool reply_held_up = false;        // until writable()

    std::uint64_t sequence = 0;  // of the last request
    std::uint32_t steps = 0, steps_left = 0;
    bool in_batch = false, in_step = false;
    Step step{};
    std::size_t done = 0;  // bytes of a get or a put
    StepOrder order;
    const char* objection = nullptr;

    std::size_t there() const noexcept { return end - begin; }
    std::size_t room() const noexcept;
    void add(const void* result, std::size_t bytes) noexcept;
  };

  const char* serve(Rank from, Client& client) noexcept;
  Progress advance(Rank from, Client& client) noexcept;
  Progress begin_frame(Rank from, Client& client) noexcept;
  Progress begin_step(Client& client) noexcept;
  Progress end_batch(Client& client) noexcept;
  Progress take_message(Rank from, Client& client, const wire::FrameHeader& header) noexcept;
  Progress leave_out(Client& client) noexcept;
  Progress carry_on(Rank from, Client& client) noexcept;
  Progress carry_out_call(Rank from, Client& client) noexcept;
  Progress carry_on_get(Client& client, const std::byte* remote) noexcept;
  Progress carry_on_put(Client& client, std::byte* remote) noexcept;
  void send_reply(Rank peer, Client& client) noexcept;

  Transport& transport_;
  const Target own_;
  std::array<Listener*, static_cast<std::size_t>(MessageKind::count)> listeners_{};
  os::Mapping memory_;
  std::vector<Client> clients_;
};

}  // namespace musubi::fabric
