#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "os/tcp.h"

namespace musubi::os {
namespace {

constexpr PortRange two_ports{27182, 27183};

SocketAddress loopback() {
  return addresses_of_network("127.0.0.1").value().front();
}

// Two ranks that begin to listen at a free port at the same moment are both refused: to either, the port is
// in use for a moment.
TEST(Ports, OneIsInUseForAMoment) {
  auto address = loopback(), same = loopback();
  auto first = listen_at(address, two_ports);
  const auto second = listen_at(same, two_ports);
  ASSERT_TRUE(first.ok() && second.ok());
  std::thread leaves([&first] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    first = Error{"closed"};
  });
  auto found = loopback();
  const auto third = listen_at(found, two_ports);
  leaves.join();
  ASSERT_TRUE(third.ok()) << third.error().message;
  EXPECT_EQ(found.port(), two_ports.first);
}

TEST(Ports, NoneIsFree) {
  SocketAddress address = loopback();
  const auto first = listen_at(address, two_ports), second = listen_at(address, two_ports);
  ASSERT_TRUE(first.ok() && second.ok());
  const auto third = listen_at(address, two_ports);
  ASSERT_FALSE(third.ok());
  EXPECT_NE(third.error().message.find("127.0.0.1:27182 to 27183: Address already in use"), std::string::npos)
      << third.error().message;
}

}  // namespace
}  // namespace musubi::os
