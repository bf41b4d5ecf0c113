// Opens the driver: every rank maps the files of its peers. Runs once, before threads exist.
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "fabric/fabric.h"
#include "fabric/shm/shm_fabric.h"
#include "os/sockets.h"

namespace musubi::fabric {

// The files of a rank, sent to its peers at start so that they can map its memory.
struct ShmAddress {
  struct Region {
    std::uint64_t bytes = 0;  // 0: no such region
    std::uint64_t file_offset = 0;
    std::int32_t file = -1;
  };

  pid_t process = 0;
  std::int32_t mailbox_file = -1;
  std::int32_t waiters_rope = -1, service_rope = -1;  // -1: its threads sleep on futexes
  std::array<Region, region_count_max> regions{};
};

std::string encode(const ShmAddress& address);
// Error: the blob has the wrong size.
Result<ShmAddress> decode_shm_address(std::string_view blob);

namespace {

ShmAddress own_address(std::span<const RegionMemory> regions, int mailbox_file, const JointSleep* sleep) {
  ShmAddress address;
  address.process = ::getpid();
  address.mailbox_file = mailbox_file;
  if (sleep != nullptr) {
    address.waiters_rope = sleep->waiters_rope();
    address.service_rope = sleep->service_rope();
  }
  for (const RegionMemory& region : regions) {
    MUSUBI_CHECK(region.id.value < region_count_max && address.regions[region.id.value].bytes == 0,
                 "region %u is out of range or given twice", unsigned{region.id.value});
    address.regions[region.id.value] = {region.bytes, region.file_offset, region.file};
  }
  return address;
}

Result<os::Mapping> map_file_of(pid_t process, int file, std::uint64_t offset, std::size_t bytes) {
  auto opened = os::open_file_of_process(process, file);
  if (!opened) {
    // A process that dies closes its files before its death is visible. Wait, so that the launcher, which
    // names the cause and ends the job, reports first.
    constexpr unsigned patience_us = 999'999;
    ::usleep(patience_us);
    return opened.error();
  }
  return os::Mapping::anywhere(bytes, os::Protection::read_write, {opened.value().number(), offset});
}

}  // namespace

// Peers are processes of one host, started from one installation, so the memory image is the format.
static_assert(std::is_trivially_copyable_v<ShmAddress>);

std::string encode(const ShmAddress& address) {
  return std::string(reinterpret_cast<const char*>(&address), sizeof address);
}

Result<ShmAddress> decode_shm_address(std::string_view blob) {
  if (blob.size() != sizeof(ShmAddress)) {
    return Error{"a rank sent an address of " + std::to_string(blob.size()) + " bytes instead of " +
                 std::to_string(sizeof(ShmAddress)) +
                 "; start all ranks from the same installation of musubi"};
  }
  ShmAddress address;
  std::memcpy(&address, blob.data(), sizeof address);
  return address;
}

Result<std::unique_ptr<ShmFabric>> ShmFabric::open(Rank self, std::uint32_t ranks,
                                                   std::span<const RegionMemory> regions,
                                                   const Exchange& exchange, trace::Counters& counters,
                                                   WaitingPolicy policy, const ShmPart& part) {
  // After a failure this rank still takes part in the first exchange, with an empty blob: the peers must not
  // hang.
  auto file = os::create_memory_file("musubi-mailbox", sizeof(Mailbox));
  Result<os::Mapping> memory = os::Mapping{};
  if (file) {
    memory = os::Mapping::anywhere(sizeof(Mailbox), os::Protection::read_write, {file.value().number()});
  }
  const bool prepared = file.ok() && memory.ok();
  const ShmAddress own = prepared ? own_address(regions, file.value().number(), part.sleep) : ShmAddress{};
  MUSUBI_ASSIGN_OR_RETURN(auto blobs, exchange(prepared ? encode(own) : std::string{}));
  if (!prepared) {
    const Error cause = file.ok() ? memory.error() : file.error();
    auto agreed = agree(cause, exchange);
    return agreed.ok() ? cause : agreed.error();
  }

  auto* mailbox = reinterpret_cast<Mailbox*>(memory.value().data());  // zeros are an empty mailbox
  std::unique_ptr<ShmFabric> fabric(new ShmFabric(self, ranks, *mailbox, counters, policy, part.sleep));
  fabric->map_own(regions, std::move(memory).value());
  // After this exchange all ranks have mapped the files, which may be closed.
  auto agreed = agree(fabric->map_peers(own, blobs, part.group), exchange);
  if (!agreed) return agreed.error();
  return fabric;
}

ShmFabric::ShmFabric(Rank self, std::uint32_t ranks, Mailbox& mailbox, trace::Counters& counters,
                     WaitingPolicy policy, JointSleep* sleep)
    : self_(self),
      counters_(counters),
      spin_checks_(policy.spin_checks),
      yields_max_(policy.yields),
      peers_(ranks),
      mailbox_(mailbox),
      sleep_(sleep),
      reader_(mailbox) {}

void ShmFabric::map_own(std::span<const RegionMemory> regions, os::Mapping mailbox) {
  Peer& own = peers_[self_.value];
  own.mailbox = &mailbox_;
  if (sleep_ != nullptr) own.ropes = {sleep_->waiters_rope(), sleep_->service_rope()};
  own.mappings.push_back(std::move(mailbox));
  for (const RegionMemory& region : regions) own.regions[region.id.value] = {region.base, region.bytes};
}

Result<void> ShmFabric::map_peers(const ShmAddress& own, const std::vector<std::string>& blobs,
                                  std::span<const Rank> group) {
  if (auto all = expect_from_all(blobs, peers_.size(), "addresses", "musubi run"); !all) return all;
  for (std::uint32_t rank = 0; rank < peers_.size(); ++rank) {
    if (Rank{rank} == self_ || blobs[rank].empty()) continue;  // empty: that rank reports its failure itself
    if (!group.empty() && std::ranges::find(group, Rank{rank}) == group.end()) continue;
    auto mapped = map_peer(Rank{rank}, own, blobs[rank]);
    if (!mapped) return mapped;
  }
  return {};
}

Result<void> ShmFabric::open_ropes(Peer& peer, const ShmAddress& theirs) {
  if (theirs.waiters_rope < 0) return {};
  MUSUBI_ASSIGN_OR_RETURN(auto waiters,
                          os::WakeupPipe::open_write_end_of(theirs.process, theirs.waiters_rope));
  MUSUBI_ASSIGN_OR_RETURN(auto service,
                          os::WakeupPipe::open_write_end_of(theirs.process, theirs.service_rope));
  peer.ropes = {waiters.number(), service.number()};
  peer.waiters_rope = std::move(waiters);
  peer.service_rope = std::move(service);
  return {};
}

Result<void> ShmFabric::map_peer(Rank rank, const ShmAddress& own, std::string_view blob) {
  MUSUBI_ASSIGN_OR_RETURN(const ShmAddress& theirs, decode_shm_address(blob));
  Peer& peer = peers_[rank.value];
  MUSUBI_ASSIGN_OR_RETURN(auto mailbox, map_file_of(theirs.process, theirs.mailbox_file, 0, sizeof(Mailbox)));
  if (auto opened = open_ropes(peer, theirs); !opened) return opened;
  peer.mailbox = reinterpret_cast<Mailbox*>(mailbox.data());
  peer.mappings.push_back(std::move(mailbox));

  for (std::size_t id = 0; id < region_count_max; ++id) {
    const ShmAddress::Region& region = theirs.regions[id];
    if (region.bytes != own.regions[id].bytes) {
      return Error{"region " + std::to_string(id) + " has " + std::to_string(region.bytes) +
                   " bytes on rank " + std::to_string(rank.value) + " and " +
                   std::to_string(own.regions[id].bytes) +
                   " here; give every rank the same program and the same settings"};
    }
    if (region.bytes == 0) continue;
    MUSUBI_ASSIGN_OR_RETURN(auto mapping,
                            map_file_of(theirs.process, region.file, region.file_offset, region.bytes));
    peer.regions[id] = {mapping.data(), region.bytes};
    peer.mappings.push_back(std::move(mapping));
  }
  return {};
}

}  // namespace musubi::fabric
