#include "fabric/ofi/remote_reads.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "os/memory.h"
#include "os/tcp.h"

namespace musubi::fabric::ofi {
namespace {

constexpr std::size_t reads_max = 256;  // under way; more go by messages
constexpr std::size_t key_bytes_max = sizeof(std::uint64_t);
// Keys of places to read into, above those of parcels. Nobody else may use them.
constexpr std::uint64_t local_keys = std::uint64_t{1} << 24;

void allocate(std::span<std::byte> memory) noexcept {
  for (std::size_t at = 0; at < memory.size(); at += os::page_bytes()) {
    std::atomic_ref(reinterpret_cast<std::uint8_t&>(memory[at])).fetch_add(0);
  }
}

}  // namespace

int register_memory(fid_domain& domain, fid_ep& endpoint, std::uint64_t mode, std::span<std::byte> memory,
                    std::uint64_t access, std::uint64_t key, Owned<fid_mr>& registered) noexcept {
  fid_mr* made = nullptr;
  int status = domain.mr->reg(&domain.fid, memory.data(), memory.size(), access, 0, key, 0, &made, nullptr);
  if (status != 0) return status;
  registered.reset(made);
  if ((mode & FI_MR_ENDPOINT) == 0) return 0;
  status = made->fid.ops->bind(&made->fid, &endpoint.fid, 0);
  return status != 0 ? status : made->fid.ops->control(&made->fid, FI_ENABLE, nullptr);
}

RemoteReads::RemoteReads(CallLock& calls, const fi_info& info, std::uint32_t ranks, std::size_t bytes_min)
    : calls_(calls),
      info_(info),
      mode_(static_cast<std::uint64_t>(info.domain_attr->mr_mode)),
      bytes_min_((info.caps & FI_READ) != 0 && bytes_min != 0 ? bytes_min : SIZE_MAX) {
  if (bytes_min_ == SIZE_MAX) return;
  peers_.resize(ranks);
  reads_ = std::vector<Read>(reads_max);
  for (Read& read : reads_) {
    read.is_read = true;
    give_back(&read);
  }
}

void RemoteReads::offer(fid_domain& domain, fid_ep& endpoint, std::span<const OfiReadable> regions) noexcept {
  domain_ = &domain;
  endpoint_ = &endpoint;
  if (bytes_min_ == SIZE_MAX) return;
  const std::size_t key_bytes = info_.domain_attr->mr_key_size;
  for (const auto& [region, keeps_pages] : regions) {
    if ((mode_ & FI_MR_ALLOCATED) != 0) {
      if (!keeps_pages) continue;
      allocate({region.base, region.bytes});
    }
    std::uint64_t key = 0;
    if (!os::random_bytes(&key, std::min(key_bytes, key_bytes_max))) return;
    Owned<fid_mr> registered;
    if (register_memory(domain, endpoint, mode_, {region.base, region.bytes}, FI_REMOTE_READ, key,
                        registered) != 0) {
      continue;
    }
    const bool by_address = (mode_ & FI_MR_VIRT_ADDR) != 0;
    own_.there |= std::uint64_t{1} << region.id.value;
    own_.regions[region.id.value] = {by_address ? reinterpret_cast<std::uintptr_t>(region.base) : 0,
                                     registered->key};
    registered_.push_back(std::move(registered));
  }
}

bool RemoteReads::begin(fi_addr_t address, const Request& request) noexcept {
  if (bytes_min_ == SIZE_MAX || request.local.size() > info_.ep_attr->max_msg_size) return false;
  const Told& theirs = peers_[request.peer.value];
  if ((theirs.there >> request.region.value & 1) == 0) return false;
  Read* const read = take();
  if (read == nullptr) return false;
  read->peer = request.peer.value;
  read->token = request.token;
  const Told::Region& region = theirs.regions[request.region.value];
  long status = 0;
  calls_.lock();
  if ((mode_ & FI_MR_LOCAL) != 0) {
    const std::uint64_t key = local_keys + static_cast<std::uint64_t>(read - reads_.data());
    status = register_memory(*domain_, *endpoint_, mode_, request.local, FI_READ, key, read->local);
  }
  if (status == 0) {
    void* const descriptor = read->local == nullptr ? nullptr : read->local->mem_desc;
    status = endpoint_->rma->read(endpoint_, request.local.data(), request.local.size(), descriptor, address,
                                  region.begin + request.offset, region.key, &read->context);
  }
  if (status != 0) read->local.reset();
  calls_.unlock();
  if (status != 0) give_back(read);
  return status == 0;
}

void* RemoteReads::end(Operation& operation) noexcept {
  auto& read = static_cast<Read&>(operation);
  if (read.local != nullptr) {
    calls_.lock();
    read.local.reset();
    calls_.unlock();
  }
  void* const token = read.token;
  give_back(&read);
  return token;
}

void RemoteReads::close() noexcept {
  for (Read& read : reads_) read.local.reset();
  registered_.clear();
}

RemoteReads::Read* RemoteReads::take() noexcept {
  lock_.lock();
  Read* const read = free_;
  if (read != nullptr) free_ = read->next;
  lock_.unlock();
  return read;
}

void RemoteReads::give_back(Read* read) noexcept {
  lock_.lock();
  read->next = free_;
  free_ = read;
  lock_.unlock();
}

}  // namespace musubi::fabric::ofi
