#include "fabric/ofi/remote_memory.h"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "fabric/ofi/provider.h"
#include "os/memory.h"
#include "os/tcp.h"

namespace musubi::fabric::ofi {
namespace {

constexpr std::size_t moves_max = 256;  // under way; further ones are messages
constexpr std::size_t key_bytes_max = sizeof(std::uint64_t);
// Keys of local memory, above those of parcels. Peers cannot use them.
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

RemoteMemory::RemoteMemory(CallLock& calls, const fi_info& info, std::uint32_t ranks, std::size_t bytes_min)
    : calls_(calls),
      info_(info),
      mode_(static_cast<std::uint64_t>(info.domain_attr->mr_mode)),
      bytes_min_((info.caps & FI_RMA) != 0 && bytes_min != 0 ? bytes_min : SIZE_MAX),
      tells_delivery_(tells_delivery(name_of(info))) {
  if (bytes_min_ == SIZE_MAX) return;
  peers_.resize(ranks);
  moves_ = std::vector<Move>(moves_max);
  for (Move& move : moves_) {
    move.is_move = true;
    give_back(&move);
  }
}

int RemoteMemory::offer(fid_domain& domain, fid_ep& endpoint,
                        std::span<const OfiReachable> regions) noexcept {
  domain_ = &domain;
  endpoint_ = &endpoint;
  if (bytes_min_ == SIZE_MAX) return 0;
  int problem = 0;
  const std::size_t key_bytes = info_.domain_attr->mr_key_size;
  for (const auto& [region, keeps_pages] : regions) {
    if ((mode_ & FI_MR_ALLOCATED) != 0) {
      if (!keeps_pages) continue;
      allocate({region.base, region.bytes});
    }
    std::uint64_t key = 0;
    if (!os::random_bytes(&key, std::min(key_bytes, key_bytes_max))) return -FI_ENODATA;
    Owned<fid_mr> registered;
    const int status = register_memory(domain, endpoint, mode_, {region.base, region.bytes},
                                       FI_REMOTE_READ | FI_REMOTE_WRITE, key, registered);
    if (status != 0) {
      problem = status;
      continue;
    }
    const bool by_address = (mode_ & FI_MR_VIRT_ADDR) != 0;
    own_.there |= std::uint64_t{1} << region.id.value;
    own_.regions[region.id.value] = {by_address ? reinterpret_cast<std::uintptr_t>(region.base) : 0,
                                     registered->key};
    registered_.push_back(std::move(registered));
  }
  return problem;
}

bool RemoteMemory::begin(Rank peer, fi_addr_t address, const Step& step, void* token) noexcept {
  if (bytes_min_ == SIZE_MAX || step.bytes > info_.ep_attr->max_msg_size) return false;
  if (step.verb == Verb::put && !tells_delivery_) return false;
  const Told& theirs = peers_[peer.value];
  if ((theirs.there >> step.region.value & 1) == 0) return false;
  Move* const move = take();
  if (move == nullptr) return false;
  move->peer = peer.value;
  move->token = token;
  calls_.lock();
  const long status = post(*move, address, theirs.regions[step.region.value], step);
  if (status != 0) move->local.reset();
  calls_.unlock();
  if (status != 0) give_back(move);
  return status == 0;
}

// A put completes when the peer's memory has it. REQUIRES: calls_ is held.
long RemoteMemory::post(Move& move, fi_addr_t address, const Told::Region& region,
                        const Step& step) noexcept {
  const bool is_get = step.verb == Verb::get;
  void* descriptor = nullptr;
  if ((mode_ & FI_MR_LOCAL) != 0) {
    const std::uint64_t key = local_keys + static_cast<std::uint64_t>(&move - moves_.data());
    const int status =
        register_memory(*domain_, *endpoint_, mode_, {static_cast<std::byte*>(step.local), step.bytes},
                        is_get ? FI_READ : FI_WRITE, key, move.local);
    if (status != 0) return status;
    descriptor = move.local->mem_desc;
  }
  const std::uint64_t place = region.begin + step.offset;
  if (is_get) {
    return endpoint_->rma->read(endpoint_, step.local, step.bytes, descriptor, address, place, region.key,
                                &move.context);
  }
  const iovec from{step.local, step.bytes};
  const fi_rma_iov to{place, step.bytes, region.key};
  const fi_msg_rma message{&from, &descriptor, 1, address, &to, 1, &move.context, 0};
  return endpoint_->rma->writemsg(endpoint_, &message, FI_DELIVERY_COMPLETE);
}

void* RemoteMemory::end(Operation& operation) noexcept {
  auto& move = static_cast<Move&>(operation);
  if (move.local != nullptr) {
    calls_.lock();
    move.local.reset();
    calls_.unlock();
  }
  void* const token = move.token;
  give_back(&move);
  return token;
}

void RemoteMemory::close() noexcept {
  for (Move& move : moves_) move.local.reset();
  registered_.clear();
}

RemoteMemory::Move* RemoteMemory::take() noexcept {
  lock_.lock();
  Move* const move = free_;
  if (move != nullptr) free_ = move->next;
  lock_.unlock();
  return move;
}

void RemoteMemory::give_back(Move* move) noexcept {
  lock_.lock();
  move->next = free_;
  free_ = move;
  lock_.unlock();
}

}  // namespace musubi::fabric::ofi
