// A call: the addresses of a peer race until one of them has welcomed this rank, or patience ends. The next
// address starts when the last one has failed, or has been silent for a quarter of a second. This rank sends
// its proof only to the first one that proves to be the peer; all other lanes are then stopped, and start
// again if it ends before its welcome. No I/O, no clock.
//
// A call that leads may have several connections at a time. Any other call has one, but prefers at once an
// address that another call has found (prefer()).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace musubi::fabric::tcp {

inline constexpr const char* no_answer = "no one answers";

class ConnectRace {
 public:
  static constexpr unsigned lanes = 8;         // connections at a time
  static constexpr unsigned attempts_min = 2;  // of each address, before the call is given up
  struct Patience {
    std::uint64_t connect_ns, handshake_ns, all_ns;
  };
  enum class Stage : std::uint8_t { none, connecting, greeted, proved };
  struct Action {
    enum class Kind : std::uint8_t { none, start, stop, give_up };
    Kind kind = Kind::none;
    unsigned lane = 0;
    std::size_t address = 0;
  };

  explicit ConnectRace(std::size_t addresses) : addresses_(addresses) {}

  void begin(std::uint64_t now_ns, const Patience& patience) noexcept;
  bool is_on() const noexcept { return is_on_; }
  // The next action; call again until it is `none`. `start`: connect this address, and report by the
  // functions below. `stop`: close the lane's connection. `give_up`: the call has failed, and all lanes are
  // free.
  Action next(std::uint64_t now_ns, bool leads) noexcept;

  void connected(unsigned lane, std::uint64_t now_ns) noexcept;
  // The peer's proof is valid. Result: whether this lane is the first one, which sends this rank's proof.
  bool answered(unsigned lane, std::uint64_t now_ns) noexcept;
  // The call has succeeded. next() stops the other lanes.
  void welcomed(unsigned lane) noexcept;
  // The caller has closed the lane's connection. `reason` is static.
  void failed(unsigned lane, const char* reason, std::uint64_t now_ns) noexcept;
  // Tries this address before any other address.
  void prefer(std::size_t address) noexcept;

  Stage stage(unsigned lane) const noexcept { return lanes_[lane].stage; }
  std::size_t address(unsigned lane) const noexcept { return lanes_[lane].address; }
  bool is_overdue(unsigned lane, std::uint64_t now_ns) const noexcept {
    return lanes_[lane].stage != Stage::none && now_ns >= lanes_[lane].ends_ns;
  }
  // The lane's attempt number: greater than that of any lane started before.
  std::uint32_t attempt(unsigned lane) const noexcept { return lanes_[lane].attempt; }
  // Why the last attempt at an address failed; null: none failed.
  const char* reason(std::size_t address) const noexcept { return addresses_[address].reason; }
  // How many attempts were started at an address.
  unsigned tried(std::size_t address) const noexcept { return addresses_[address].tried; }

 private:
  struct Address {
    const char* reason = nullptr;
    unsigned tried = 0;
    bool is_under_way = false;
  };
  struct Lane {
    Stage stage = Stage::none;
    std::uint32_t attempt = 0;
    std::size_t address = 0;
    std::uint64_t ends_ns = 0;
  };
  static constexpr std::size_t none = SIZE_MAX;

  unsigned find(Stage stage) const noexcept;
  unsigned under_way() const noexcept;
  bool is_tried_out() const noexcept;
  std::size_t next_address() const noexcept;
  void leave(unsigned lane) noexcept;
  Action stop(unsigned lane) noexcept;
  Action start(std::size_t address, std::uint64_t now_ns) noexcept;
  Action end(unsigned but_for) noexcept;

  std::vector<Address> addresses_;
  std::array<Lane, lanes> lanes_;
  Patience patience_{};
  bool is_on_ = false;
  bool makes_room_ = false;  // for the preferred address
  std::uint32_t attempts_ = 0;
  std::size_t preferred_ = none;
  std::uint64_t next_ns_ = 0, gives_up_ns_ = 0;
};

}  // namespace musubi::fabric::tcp
