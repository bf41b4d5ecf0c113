// The port's suite on the engine over sealed transports: with checksums, and with each cipher.
#include "fabric/seal/sealed_transport.h"

#include "fabric_suite.h"
#include "loopback.h"
#include "network_ranks.h"
#include "service_threads.h"
#include "waiting_suite.h"

namespace musubi::fabric::conformance {
namespace {

struct SealedRank {
  os::Mapping memory;
  trace::Counters counters;
  std::unique_ptr<SocketTransport> sockets;
  std::unique_ptr<SealedTransport> transport;
  std::unique_ptr<ActiveMessages> fabric;
};

class SealedWorld final : public ServedWorld {
 public:
  SealedWorld(std::uint32_t ranks, std::size_t region_bytes, Cipher cipher)
      : ServedWorld(ranks), ranks_(ranks) {
    auto sockets = loopback_transports(ranks);
    MUSUBI_CHECK(sockets.ok(), "%s", sockets.error().message.c_str());
    for (std::uint32_t i = 0; i < ranks; ++i) {
      SealedRank& rank = ranks_[i];
      auto memory = os::Mapping::anywhere(region_bytes, os::Protection::read_write);
      MUSUBI_CHECK(memory.ok(), "%s", memory.error().message.c_str());
      rank.memory = std::move(memory).value();
      rank.sockets = std::move(sockets.value()[i]);
      rank.transport = std::make_unique<SealedTransport>(*rank.sockets, cipher, secret_of_tests);
      const RegionMemory region{region_of_tests, rank.memory.data(), region_bytes};
      rank.fabric = std::make_unique<ActiveMessages>(*rank.transport, std::span(&region, 1), rank.counters,
                                                     WaitingPolicy{});
    }
  }
  Fabric& fabric(Rank rank) override { return *ranks_[rank.value].fabric; }
  std::byte* memory(Rank rank) override { return ranks_[rank.value].memory.data(); }

 private:
  std::vector<SealedRank> ranks_;
};

std::unique_ptr<FabricWorld> by_sums(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<SealedWorld>(ranks, region_bytes, Cipher::none);
}
std::unique_ptr<FabricWorld> by_the_best_cipher(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<SealedWorld>(ranks, region_bytes, LaneKeys::best_cipher());
}
std::unique_ptr<FabricWorld> by_chacha(std::uint32_t ranks, std::size_t region_bytes) {
  return std::make_unique<SealedWorld>(ranks, region_bytes, Cipher::chacha20_poly1305);
}

INSTANTIATE_TEST_SUITE_P(Seal, WaitingSuite, ::testing::Values(Driver{"sums", &by_sums}), driver_name);
INSTANTIATE_TEST_SUITE_P(Seal, FabricSuite,
                         ::testing::Values(Driver{"sums", &by_sums, 3},
                                           Driver{"cipher", &by_the_best_cipher, 2},
                                           Driver{"chacha", &by_chacha, 1}),
                         driver_name);

}  // namespace
}  // namespace musubi::fabric::conformance
