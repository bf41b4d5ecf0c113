// Opens the driver: an endpoint of the chosen provider, then the peers' addresses.
#include <algorithm>
#include <cstring>
#include <utility>

#include "fabric/ofi/ofi.h"
#include "fabric/ofi/ofi_net.h"
#include "fabric/ofi/provider.h"

namespace musubi::fabric {
namespace {

// Larger than a message: from this size on a get takes several of them, and as many copies.
constexpr std::size_t rma_bytes_min = std::size_t{16} << 10;

// Format of a rank's blob: build, name of the provider, a zero, keys of its regions, address.
std::string encode(std::string_view build, const ofi::OfiNet& net) {
  std::string blob(handshake::build_bytes, '\0');
  build.copy(blob.data(), blob.size());
  blob += net.name();
  blob += '\0';
  const ofi::RemoteMemory::Told regions = net.own_regions();
  blob.append(reinterpret_cast<const char*>(&regions), sizeof regions);
  blob += net.address();
  return blob;
}

struct PeerTold {
  ofi::RemoteMemory::Told regions;
  std::string address;
};

Result<PeerTold> decode(std::uint32_t rank, std::string_view blob, std::string_view own) {
  const std::string_view build = blob.substr(0, handshake::build_bytes);
  if (blob.size() <= handshake::build_bytes || build != own.substr(0, handshake::build_bytes)) {
    return other_build(rank);
  }
  const auto provider_of = [](std::string_view text) {
    text.remove_prefix(handshake::build_bytes);
    return text.substr(0, text.find('\0'));
  };
  const std::string who = "rank " + std::to_string(rank);
  const std::string_view theirs = provider_of(blob), ours = provider_of(own);
  if (theirs != ours) {
    return Error{who + " has " + std::string(theirs) + " of libfabric where this rank has " +
                 std::string(ours) + "; set ofi_provider to one that all hosts have"};
  }
  const std::size_t begin = handshake::build_bytes + theirs.size() + 1;
  PeerTold told;
  if (begin + sizeof told.regions > blob.size()) return Error{who + " told no address for libfabric"};
  std::memcpy(&told.regions, blob.data() + begin, sizeof told.regions);
  told.address = blob.substr(begin + sizeof told.regions);
  return told;
}

Result<std::unique_ptr<ofi::OfiNet>> open_net(Rank self, std::uint32_t ranks, const OfiOptions& options) {
  auto library = ofi::Library::load();
  if (!library) return library.error();
  auto info = ofi::choose_provider(*library.value(), options.provider, options.network);
  if (!info) return info.error();
  const bool keeps_words = ofi::keeps_words(ofi::name_of(*info.value()));
  ofi::Reachable reachable{options.reachable,
                           options.rma_bytes_min.value_or(keeps_words ? rma_bytes_min : std::size_t{0}),
                           options.rma_bytes_min.has_value()};
  if (reachable.bytes_min != 0) {
    auto able = ofi::able_to_reach(*library.value(), *info.value(), options.network, reachable.is_asked_for);
    if (able == nullptr && reachable.is_asked_for) {
      return Error{std::string(ofi::name_of(*info.value())) +
                   " of libfabric does not reach peers' memory by itself; leave rma_bytes_min alone, or set "
                   "ofi_provider to another one (musubi doctor lists them)"};
    }
    if (able != nullptr) info = std::move(able);
  }
  return ofi::OfiNet::open(*library.value(), std::move(info).value(), self, ranks, options.messages.reach_max,
                           reachable);
}

Result<std::unique_ptr<MessageTransport>> join(Rank self, std::uint32_t ranks, const OfiOptions& options,
                                               std::unique_ptr<ofi::OfiNet> net,
                                               const std::vector<std::string>& blobs) {
  if (auto all = expect_from_all(blobs, ranks, "addresses", "musubi run"); !all) return all.error();
  std::vector<std::string> addresses(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (blobs[rank].empty()) continue;  // that rank reports its failure itself
    auto told = decode(rank, blobs[rank], blobs[self.value]);
    if (!told) return told.error();
    net->know_regions(Rank{rank}, told.value().regions);
    addresses[rank] = std::move(told).value().address;
  }
  if (auto known = net->know(addresses); !known) return known.error();
  return MessageTransport::create(std::move(net), options.messages);
}

}  // namespace

Result<std::unique_ptr<MessageTransport>> open_ofi(Rank self, std::uint32_t ranks, const OfiOptions& options,
                                                   const Exchange& exchange) {
  auto net = open_net(self, ranks, options);
  // After a failure this rank still takes part in the exchanges, with an empty blob: the peers must not hang.
  auto blobs = exchange(net ? encode(options.messages.build, *net.value()) : std::string{});
  if (!blobs) return blobs.error();
  auto transport = net ? join(self, ranks, options, std::move(net).value(), blobs.value())
                       : Result<std::unique_ptr<MessageTransport>>(net.error());
  auto agreed = agree(transport ? Result<void>() : Result<void>(transport.error()), exchange);
  if (!agreed) return agreed.error();
  return transport;
}

Result<OfiOnThisHost> ofi_on_this_host() {
  auto library = ofi::Library::load();
  if (!library) return library.error();
  OfiOnThisHost found{library.value()->version_text(), {}};
  for (const std::string& name : ofi::list_providers(*library.value())) {
    found.providers.push_back(ofi::describe(*library.value(), name));
  }
  return found;
}

}  // namespace musubi::fabric
