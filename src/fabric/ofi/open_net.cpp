// Opens an endpoint and its objects.
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

#include <array>
#include <utility>

#include "os/signal_calls.h"

#include "fabric/ofi/ofi_net.h"

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
    auto mapped = os::Mapping::anywhere(bytes, os::Protection::read_write);
    if (!mapped) return mapped.error();
    *memory = std::move(mapped).value();
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
    auto made_bell = os::WakeupPipe::create();
    if (!made_bell) return made_bell.error();
    bells_[i] = std::move(made_bell).value();
    auto made_set = os::ReadySet::create();
    if (!made_set) return made_set.error();
    sets_[i] = std::move(made_set).value();
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
