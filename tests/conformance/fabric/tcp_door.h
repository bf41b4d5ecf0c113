// Ranks by the driver tcp, and a stranger at the listening socket of one of them, for tests.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/handshake/handshake.h"
#include "service_threads.h"
#include "tcp_ranks.h"

namespace musubi::fabric::conformance {

inline bool has(const std::string& line, std::string_view text) {
  return line.find(text) != std::string::npos;
}

inline std::size_t open_files() {
  std::size_t count = 0;
  for (int number = 0; number < 4096; ++number) count += ::fcntl(number, F_GETFD) >= 0;
  return count;
}

// Two ranks, with service threads; a stranger knows where rank 0 listens, as everyone may.
class TcpDoor : public ::testing::Test {
 protected:
  void SetUp() override { open(2, tcp_options_of_tests()); }

  // `other_secret`: of rank 1, if it should have another secret.
  void open(std::uint32_t ranks, TcpOptions options, std::span<const std::byte> other_secret = {}) {
    close();
    board_ = std::make_unique<ExchangeBoard>(ranks);
    ranks_ = std::vector<TcpRank>(ranks);
    options.log = &lines_;
    open_all(ranks, [&](Rank rank) {
      Exchange spied = [this, rank, inner = board_->of(rank)](std::string_view blob) mutable {
        if (rank == Rank{0} && blob.size() > handshake::build_bytes) {
          std::memcpy(static_cast<void*>(&door_), blob.data() + handshake::build_bytes, sizeof door_);
        }
        return inner(blob);
      };
      TcpOptions own = options;
      if (rank == Rank{1} && !other_secret.empty()) own.secret = other_secret;
      return ranks_[rank.value].open(rank, ranks, 4096, own, spied, WaitingPolicy{}, &watcher_);
    });
    services_ = std::make_unique<ServiceThreads>(
        ranks, [this](Rank rank) -> Fabric& { return *ranks_[rank.value].fabric; });
  }
  void close() {
    services_.reset();
    ranks_.clear();
    board_.reset();
  }
  void TearDown() override { close(); }

  // A connection to rank 0. Blocks.
  os::FileDescriptor knock() const {
    os::FileDescriptor socket(::socket(door_.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.number(), &door_.any, door_.bytes()) != 0) socket.close();
    return socket;
  }
  static bool say(const os::FileDescriptor& socket, const void* bytes, std::size_t count) {
    return ::send(socket.number(), bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
  }
  static bool hear(const os::FileDescriptor& socket, void* bytes, std::size_t count) {
    return ::recv(socket.number(), bytes, count, MSG_WAITALL) == static_cast<ssize_t>(count);
  }
  // Waits until the rank has closed the connection.
  static bool is_shown_out(const os::FileDescriptor& socket) {
    const timeval patience{30, 0};
    ::setsockopt(socket.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char bytes[256];
    for (;;) {
      const ssize_t got = ::recv(socket.number(), bytes, sizeof bytes, 0);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
      if (got < 0) return false;
    }
  }
  // Whether rank `from` gets the word of the other rank's memory.
  bool ask(std::uint32_t from) {
    return gets_word(*ranks_[from].fabric, Rank{1 - from}, ranks_[1 - from].memory.data(), true);
  }
  bool heard(const char* text) {
    return comes_true([&] { return said(text); });
  }
  bool said(std::string_view text) const {
    for (const std::string& line : lines_.all()) {
      if (has(line, text)) return true;
    }
    return false;
  }

  // The bytes of a stranger with this secret and build, in the role of this rank of `ranks`.
  struct Caller {
    Caller(Rank self, std::uint32_t ranks, std::string_view build, std::span<const std::byte> secret)
        : handshake(self, ranks, build, secret), hello(handshake.hello_to(Rank{0}, handshake::Nonce{})) {}
    handshake::Handshake handshake;
    handshake::Hello hello;
    handshake::Answer answer;
  };
  static bool is_welcome(const os::FileDescriptor& socket) {
    handshake::Welcome welcome{0};
    return hear(socket, &welcome, sizeof welcome) && welcome == handshake::Welcome{};
  }
  // Through the handshake except for the welcome. Result: whether rank 0 answered.
  static bool shake_hands(const os::FileDescriptor& socket, Caller& caller) {
    if (!say(socket, &caller.hello, sizeof caller.hello) ||
        !hear(socket, &caller.answer, sizeof caller.answer))
      return false;
    const handshake::Proof proof =
        caller.handshake.prove(handshake::Side::asks, caller.hello, caller.answer.nonce);
    return say(socket, &proof, sizeof proof);
  }

  Lines lines_;
  LossCounter watcher_;
  os::SocketAddress door_;
  std::unique_ptr<ExchangeBoard> board_;
  std::vector<TcpRank> ranks_;
  std::unique_ptr<ServiceThreads> services_;
};

}  // namespace musubi::fabric::conformance
