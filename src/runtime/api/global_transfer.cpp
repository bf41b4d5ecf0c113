#include "runtime/api/global_transfer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "fabric/copy_words.h"
#include "fabric/transfer.h"
#include "runtime/threads/thread_executor.h"

namespace musubi::runtime {
namespace {

constexpr std::size_t bounce_bytes = 16384;

bool is_word(std::uintptr_t global, std::size_t bytes) {
  return bytes == sizeof(std::uint64_t) && global % sizeof(std::uint64_t) == 0;
}

// Other ranks may write at the same time: each word of the global side is copied as a whole.
void copy_out(std::byte* global, void* local, std::size_t bytes) {
  if (!is_word(reinterpret_cast<std::uintptr_t>(global), bytes)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    fabric::copy_words(local, global, bytes, global);
    return;
  }
  const std::uint64_t value = std::atomic_ref(*reinterpret_cast<std::uint64_t*>(global)).load();
  std::memcpy(local, &value, sizeof value);
}

void copy_in(std::byte* global, const void* local, std::size_t bytes) {
  if (!is_word(reinterpret_cast<std::uintptr_t>(global), bytes)) {
    fabric::copy_words(global, local, bytes, global);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return;
  }
  std::uint64_t value = 0;
  std::memcpy(&value, local, sizeof value);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(global)).store(value);
}

Task<> carry_out(fabric::Fabric& fabric, Rank rank, fabric::Step step) {
  co_await fabric::transfer(fabric, rank, std::span{&step, 1});
}

}  // namespace

bool GlobalTransfer::is_private(const void* local, std::size_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(local);
  return !runtime_.memory().is_shared(begin) && !runtime_.memory().is_shared(begin + bytes - 1);
}

// Whether the fabric can copy: the local side is private memory, which is always open.
bool GlobalTransfer::goes_by_itself(Rank rank, const void* local, std::size_t bytes) const {
  return bytes != 0 && memory_.direct(rank) == nullptr && is_private(local, bytes);
}

void GlobalTransfer::fetch(Rank rank, std::uint64_t offset, void* local, std::size_t bytes) {
  fabric::Fabric& fabric = memory_.fabric();
  ThreadExecutor::of_this_thread(fabric, runtime_.counters())
      .run(carry_out(fabric, rank, fabric::get(GlobalMemory::region, offset, local, bytes)));
}

void GlobalTransfer::store(Rank rank, std::uint64_t offset, const void* local, std::size_t bytes) {
  fabric::Fabric& fabric = memory_.fabric();
  ThreadExecutor::of_this_thread(fabric, runtime_.counters())
      .run(carry_out(fabric, rank, fabric::put(GlobalMemory::region, offset, local, bytes)));
}

void GlobalTransfer::get(Rank rank, std::uint64_t offset, void* local, std::size_t bytes) {
  if (bytes == 0) return;
  MUSUBI_CHECK(offset <= memory_.bytes() && bytes <= memory_.bytes() - offset);
  if (std::byte* const region = memory_.direct(rank)) return copy_out(region + offset, local, bytes);
  if (is_private(local, bytes)) return fetch(rank, offset, local, bytes);
  alignas(8) std::array<std::byte, bounce_bytes> buffer;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(bytes - done, buffer.size());
    fetch(rank, offset + done, buffer.data(), part);
    std::memcpy(static_cast<std::byte*>(local) + done, buffer.data(), part);
    done += part;
  }
}

void GlobalTransfer::put(Rank rank, std::uint64_t offset, const void* local, std::size_t bytes) {
  if (bytes == 0) return;
  MUSUBI_CHECK(offset <= memory_.bytes() && bytes <= memory_.bytes() - offset);
  if (std::byte* const region = memory_.direct(rank)) return copy_in(region + offset, local, bytes);
  if (is_private(local, bytes)) return store(rank, offset, local, bytes);
  alignas(8) std::array<std::byte, bounce_bytes> buffer;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t part = std::min(bytes - done, buffer.size());
    std::memcpy(buffer.data(), static_cast<const std::byte*>(local) + done, part);
    store(rank, offset + done, buffer.data(), part);
    done += part;
  }
}

std::optional<Task<>> GlobalTransfer::begin_get(Rank rank, std::uint64_t offset, void* local,
                                                std::size_t bytes) {
  if (goes_by_itself(rank, local, bytes))
    return carry_out(memory_.fabric(), rank, fabric::get(GlobalMemory::region, offset, local, bytes));
  get(rank, offset, local, bytes);
  return std::nullopt;
}

std::optional<Task<>> GlobalTransfer::begin_put(Rank rank, std::uint64_t offset, const void* local,
                                                std::size_t bytes) {
  if (goes_by_itself(rank, local, bytes))
    return carry_out(memory_.fabric(), rank, fabric::put(GlobalMemory::region, offset, local, bytes));
  put(rank, offset, local, bytes);
  return std::nullopt;
}

}  // namespace musubi::runtime
