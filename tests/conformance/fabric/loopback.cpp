#include "loopback.h"

#include <utility>

namespace musubi::fabric {

Result<std::vector<std::unique_ptr<SocketTransport>>> loopback_transports(std::uint32_t ranks) {
  std::vector<std::vector<SocketTransport::Sockets>> sockets(ranks);
  for (auto& of_rank : sockets) of_rank.resize(ranks);
  for (std::uint32_t asking = 0; asking < ranks; ++asking) {
    for (std::uint32_t answering = 0; answering < ranks; ++answering) {
      if (asking == answering) continue;
      auto pair = os::socket_pair();
      if (!pair) return pair.error();
      sockets[asking][answering].asking = std::move(pair.value().first);
      sockets[answering][asking].answering = std::move(pair.value().second);
    }
  }
  std::vector<std::unique_ptr<SocketTransport>> transports;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto transport = SocketTransport::create(Rank{rank}, std::move(sockets[rank]));
    if (!transport) return transport.error();
    transports.push_back(std::move(transport).value());
  }
  return transports;
}

Result<std::unique_ptr<LoopbackJob>> LoopbackJob::open(std::uint32_t ranks, std::size_t region_bytes,
                                                       WaitingPolicy policy) {
  auto transports = loopback_transports(ranks);
  if (!transports) return transports.error();
  auto job = std::make_unique<LoopbackJob>();
  for (auto& transport : transports.value()) {
    auto memory = os::Mapping::anywhere(region_bytes, os::Protection::read_write);
    if (!memory) return memory.error();
    OneRank rank;
    rank.memory = std::move(memory).value();
    rank.counters = std::make_unique<trace::Counters>();
    rank.transport = std::move(transport);
    const RegionMemory region{RegionId{0}, rank.memory.data(), region_bytes};
    rank.fabric =
        std::make_unique<ActiveMessages>(*rank.transport, std::span(&region, 1), *rank.counters, policy);
    job->ranks_.push_back(std::move(rank));
  }
  return job;
}

}  // namespace musubi::fabric
