// Opens the driver: an endpoint of the chosen provider, then the peers' addresses.
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "fabric/ofi/ofi.h"
#include "fabric/ofi/ofi_net.h"
#include "fabric/ofi/provider.h"
#include "os/signal_calls.h"

namespace musubi::fabric::ofi {
namespace {

constexpr std::size_t address_bytes_max = 512;

}  // namespace

Error OfiNet::problem(const char* doing, long status) const {
  return Error{name_ + " of libfabric " + library_.version_text() + " cannot " + doing + ": " +
               library_.text_of_error(static_cast<int>(-status)) +
               "; set ofi_provider to another one (musubi doctor lists them), or far_fabric=tcp"};
}

Result<std::unique_ptr<OfiNet>> OfiNet::open(const Library& library, Info info, Rank self,
                                             std::uint32_t ranks, std::chrono::milliseconds patience,
                                             const Reachable& reachable) {
  const os::SignalsKept kept;
  library.enter();
  std::unique_ptr<OfiNet> net(
      new OfiNet(library, std::move(info), self, ranks, patience, reachable.bytes_min));
  const std::size_t parcels = std::size_t{groups_of(ranks)} * parcels_of_group;
  for (auto [memory, bytes] : {std::pair{&net->slot_memory_, parcels * sizeof(Slot)},
                               std::pair{&net->parcel_memory_, parcels * sizeof(Parcel)},
                               std::pair{&net->bytes_, parcels * net->parcel_bytes()}}) {
    MUSUBI_ASSIGN_OR_RETURN(*memory, os::Mapping::anywhere(bytes, os::Protection::read_write));
  }
  if (auto opened = net->open_objects(); !opened) return opened.error();
  if (auto opened = net->open_sleepers(); !opened) return opened.error();
  const int refused = net->remote_.offer(*net->domain_, *net->endpoint_, reachable.regions);
  if (refused != 0 && reachable.is_asked_for) {
    return Error{net->name_ +
                 " of libfabric cannot register memory for its peers: " + library.text_of_error(-refused) +
                 "; raise ulimit -l, lower global_bytes, or leave rma_bytes_min alone"};
  }
  return net;
}

Result<void> OfiNet::open_objects() {
  fid_fabric* fabric = nullptr;
  if (const int status = library_.open_fabric(info_->fabric_attr, &fabric, nullptr)) {
    return problem("open its network", status);
  }
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (const int status = fabric->ops->domain(fabric, info_.get(), &domain, nullptr)) {
    return problem("open a device", status);
  }
  domain_.reset(domain);
  if (auto opened = open_queue(); !opened) return opened;
  fi_av_attr attributes{};
  attributes.type = FI_AV_TABLE;
  attributes.count = ranks_;
  fid_av* book = nullptr;
  if (const int status = domain->ops->av_open(domain, &attributes, &book, nullptr)) {
    return problem("keep addresses", status);
  }
  book_.reset(book);
  fid_ep* endpoint = nullptr;
  if (const int status = domain->ops->endpoint(domain, info_.get(), &endpoint, nullptr)) {
    return problem("open an endpoint", status);
  }
  endpoint_.reset(endpoint);
  int status = endpoint->fid.ops->bind(&endpoint->fid, &book->fid, 0);
  if (status == 0) status = endpoint->fid.ops->bind(&endpoint->fid, &queue_->fid, FI_TRANSMIT | FI_RECV);
  if (status == 0) status = endpoint->fid.ops->control(&endpoint->fid, FI_ENABLE, nullptr);
  if (status != 0) return problem("enable an endpoint", status);
  std::array<char, address_bytes_max> address;
  std::size_t bytes = address.size();
  status = endpoint->cm->getname(&endpoint->fid, address.data(), &bytes);
  if (status != 0 || bytes > address.size()) return problem("tell its address", status);
  address_.assign(address.data(), bytes);
  return {};
}

// With a descriptor to wait for if the provider has one, otherwise without.
Result<void> OfiNet::open_queue() {
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_MSG;
  attributes.size = info_->tx_attr->size + info_->rx_attr->size;
  attributes.wait_obj = FI_WAIT_FD;
  for (;;) {
    fid_cq* queue = nullptr;
    const int status = domain_->ops->cq_open(domain_.get(), &attributes, &queue, nullptr);
    if (status == 0) {
      queue_.reset(queue);
      int number = -1;
      const bool has_number = attributes.wait_obj == FI_WAIT_FD &&
                              queue->fid.ops->control(&queue->fid, FI_GETWAIT, &number) == 0 && number >= 0;
      if (has_number) queue_number_ = number;
      if (has_number || attributes.wait_obj == FI_WAIT_NONE) return {};
      queue_.reset();
    } else if (attributes.wait_obj == FI_WAIT_NONE) {
      return problem("open a queue", status);
    }
    attributes.wait_obj = FI_WAIT_NONE;
  }
}

Result<void> OfiNet::open_sleepers() {
  for (std::size_t i = 0; i < std::size(bells_); ++i) {
    MUSUBI_ASSIGN_OR_RETURN(bells_[i], os::WakeupPipe::create());
    MUSUBI_ASSIGN_OR_RETURN(sets_[i], os::ReadySet::create());
    if (!sets_[i].add(bells_[i].number(), EPOLLIN, bell_data) ||
        (queue_number_ >= 0 && !sets_[i].add(queue_number_, EPOLLIN, queue_data))) {
      return Error{"the kernel refuses to wait for libfabric; raise fs.epoll.max_user_watches"};
    }
  }
  return {};
}

Result<void> OfiNet::know(const std::vector<std::string>& addresses) {
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (Rank{rank} == self_ || addresses[rank].empty()) continue;
    const int count = book_->ops->insert(book_.get(), addresses[rank].data(), 1, &peers_[rank], 0, nullptr);
    if (count != 1) return problem("keep the address of a rank", count < 0 ? count : -FI_EINVAL);
  }
  return {};
}

Parcel* OfiNet::open_group(std::uint32_t group) noexcept {
  library_.enter();
  if (!register_group(group)) return nullptr;
  void* const descriptor =
      registered_[group].load() == nullptr ? nullptr : registered_[group].load()->mem_desc;
  const std::uint32_t first = group * parcels_of_group;
  for (std::uint32_t i = 0; i < parcels_of_group; ++i) {
    Parcel& parcel = parcels()[first + i];
    parcel.number = first + i;
    parcel.group = group;
    parcel.place = i;
    parcel.bytes = bytes_.data() + parcel.number * parcel_bytes();
    Slot& slot = slots()[parcel.number];
    slot.parcel = &parcel;
    slot.descriptor = descriptor;
    if (!is_to_send(slot)) post(slot);
  }
  return &parcels()[first];
}

bool OfiNet::register_group(std::uint32_t group) noexcept {
  const std::uint64_t mode = static_cast<std::uint64_t>(info_->domain_attr->mr_mode);
  if ((mode & FI_MR_LOCAL) == 0) return true;
  const std::size_t bytes = parcels_of_group * parcel_bytes();
  Owned<fid_mr> registered;
  calls_.lock();
  const int status = register_memory(*domain_, *endpoint_, mode, {bytes_.data() + group * bytes, bytes},
                                     FI_SEND | FI_RECV, group, registered);
  calls_.unlock();
  registered_[group].store(registered.release());
  return status == 0;
}

}  // namespace musubi::fabric::ofi

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
  MUSUBI_ASSIGN_OR_RETURN(auto library, ofi::Library::load());
  MUSUBI_ASSIGN_OR_RETURN(auto info, ofi::choose_provider(*library, options.provider, options.network));
  const bool keeps_words = ofi::keeps_words(ofi::name_of(*info));
  ofi::Reachable reachable{options.reachable,
                           options.rma_bytes_min.value_or(keeps_words ? rma_bytes_min : std::size_t{0}),
                           options.rma_bytes_min.has_value()};
  if (reachable.bytes_min != 0) {
    auto able = ofi::able_to_reach(*library, *info, options.network, reachable.is_asked_for);
    if (able == nullptr && reachable.is_asked_for) {
      return Error{std::string(ofi::name_of(*info)) +
                   " of libfabric does not reach peers' memory by itself; leave rma_bytes_min alone, or set "
                   "ofi_provider to another one (musubi doctor lists them)"};
    }
    if (able != nullptr) info = std::move(able);
  }
  return ofi::OfiNet::open(*library, std::move(info), self, ranks, options.messages.reach_max, reachable);
}

Result<std::unique_ptr<MessageTransport>> join(Rank self, std::uint32_t ranks, const OfiOptions& options,
                                               std::unique_ptr<ofi::OfiNet> net,
                                               const std::vector<std::string>& blobs) {
  if (auto all = expect_from_all(blobs, ranks, "addresses", "musubi run"); !all) return all.error();
  std::vector<std::string> addresses(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    if (blobs[rank].empty()) continue;  // that rank reports its failure itself
    MUSUBI_ASSIGN_OR_RETURN(auto told, decode(rank, blobs[rank], blobs[self.value]));
    net->know_regions(Rank{rank}, told.regions);
    addresses[rank] = std::move(told).address;
  }
  if (auto known = net->know(addresses); !known) return known.error();
  return MessageTransport::create(std::move(net), options.messages);
}

}  // namespace

Result<std::unique_ptr<MessageTransport>> open_ofi(Rank self, std::uint32_t ranks, const OfiOptions& options,
                                                   const Exchange& exchange) {
  auto net = open_net(self, ranks, options);
  // After a failure this rank still takes part in the exchanges, with an empty blob: the peers must not hang.
  MUSUBI_ASSIGN_OR_RETURN(auto blobs,
                          exchange(net ? encode(options.messages.build, *net.value()) : std::string{}));
  auto transport = net ? join(self, ranks, options, std::move(net).value(), blobs)
                       : Result<std::unique_ptr<MessageTransport>>(net.error());
  auto agreed = agree(transport ? Result<void>() : Result<void>(transport.error()), exchange);
  if (!agreed) return agreed.error();
  return transport;
}

Result<OfiOnThisHost> ofi_on_this_host() {
  MUSUBI_ASSIGN_OR_RETURN(auto library, ofi::Library::load());
  OfiOnThisHost found{library->version_text(), {}};
  for (const std::string& name : ofi::list_providers(*library)) {
    found.providers.push_back(ofi::describe(*library, name));
  }
  return found;
}

}  // namespace musubi::fabric
