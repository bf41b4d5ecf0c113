#include "image/memory/file_mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "image/process/call_result.h"
#include "image/process/refusal.h"
#include "os/mapping_calls.h"
#include "os/memory.h"

namespace musubi::image {
namespace {

void* pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}
std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

void* map_failed(int error) {
  errno = error;
  return MAP_FAILED;
}

// Flags that mean the same on every rank.
constexpr int common_flags = MAP_TYPE | MAP_NORESERVE | MAP_POPULATE | MAP_NONBLOCK | MAP_SYNC | MAP_HUGETLB;

// Direct system call: the wrappers of open and close serve the program's own files.
int open_of_process(pid_t process, int file, int access) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(process), file);
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, access | O_CLOEXEC, 0));
}

}  // namespace

FileMappings::FileMappings(runtime::Runtime& runtime) : slice_(runtime.self(), runtime.ranks()) {
  calls_.start(runtime, procedures::file_mappings, *this);
}

// REQUIRES: `file` is open here. Result: 0 or -errno.
int FileMappings::carry_out(const Order& order, int file) noexcept {
  void* const address = pointer(order.address);
  switch (order.kind) {
    case Order::Kind::map: {
      void* const mapped =
          os::map_pages(address, order.bytes, order.protection, order.flags, file, order.offset);
      if (mapped == MAP_FAILED) return -errno;
      if (mapped != address) {  // a kernel before 4.17 takes the address for a hint
        os::unmap_pages(mapped, order.bytes);
        return -EEXIST;
      }
      areas_.note({order.address, order.address + order.bytes, Reach::everywhere,
                   (order.flags & MAP_TYPE) == MAP_PRIVATE});
      return 0;
    }
    case Order::Kind::unmap:
      areas_.forget(order.address, order.bytes);
      return os::unmap_pages(address, order.bytes) == 0 ? 0 : -errno;
    case Order::Kind::protect:
      return os::protect_pages(address, order.bytes, order.protection) == 0 ? 0 : -errno;
    case Order::Kind::remap: {
      const std::optional<Area> area = areas_.at(address);
      if (!area) return -EFAULT;
      const bool moves = order.new_address != order.address;
      void* const moved =
          os::move_pages(address, order.bytes, order.new_bytes, moves ? MREMAP_MAYMOVE | MREMAP_FIXED : 0,
                         pointer(order.new_address));
      if (moved == MAP_FAILED) return -errno;
      areas_.forget(order.address, order.bytes);
      areas_.note({order.new_address, order.new_address + order.new_bytes, area->reach, area->is_private});
      return 0;
    }
    case Order::Kind::reuse:
      slice_.give_back(order.address, order.bytes);
      return 0;
    case Order::Kind::attach:
      if (::syscall(SYS_shmat, order.file, address, order.flags) == -1) return -errno;
      areas_.note({order.address, order.address + order.bytes, Reach::everywhere, false});
      return 0;
    case Order::Kind::detach:
      areas_.forget(order.address, order.bytes);
      return ::syscall(SYS_shmdt, address) == 0 ? 0 : -errno;
  }
  return -EINVAL;
}

int FileMappings::apply(const Order& order) noexcept {
  if (order.kind != Order::Kind::map) return carry_out(order, -1);
  const int file = open_of_process(order.process, order.file, order.access);
  if (file < 0) return -errno;
  const int result = carry_out(order, file);
  ::syscall(SYS_close, file);
  return result;
}

int FileMappings::order_others(const Order& order) noexcept {
  return static_cast<int>(calls_.at_others<&FileMappings::apply>(order));
}

// Result: 0, or -1 with errno.
int FileMappings::order_all(const Order& order, Reach reach) noexcept {
  int result = carry_out(order, -1);
  if (result == 0 && reach == Reach::everywhere) result = order_others(order);
  return fail(-result);
}

// No rank has anything mapped there any more.
void FileMappings::reuse(std::uintptr_t address, std::size_t bytes) noexcept {
  Order order{};
  order.kind = Order::Kind::reuse;
  order.address = address;
  order.bytes = bytes;
  slice_.give_back(address, bytes);
  if (!slice_.contains(address)) order_others(order);
}

void* FileMappings::map(const MapRequest& request, std::size_t alignment) noexcept {
  const bool fixed = is_fixed(request);
  const bool over_ours = fixed && covers(request.wanted);
  Order order{};
  order.kind = Order::Kind::map;
  order.address = fixed ? number(request.wanted) : slice_.take(request.bytes, alignment);
  order.bytes = request.bytes;
  order.protection = request.protection;
  order.flags = (request.flags & common_flags) |
                (over_ours ? request.flags & (MAP_FIXED | MAP_FIXED_NOREPLACE) : MAP_FIXED_NOREPLACE);
  order.offset = request.offset;
  order.process = static_cast<pid_t>(::syscall(SYS_getpid));
  order.file = request.file;
  order.access = static_cast<int>(::syscall(SYS_fcntl, request.file, F_GETFL)) & O_ACCMODE;
  if (order.address == 0) return map_failed(ENOMEM);
  const int error = carry_out(order, request.file);
  if (error != 0) {
    if (!fixed) slice_.give_back(order.address, order.bytes);
    return map_failed(-error);
  }
  if (const int elsewhere = order_others(order); elsewhere != 0) {
    unmap(pointer(order.address), order.bytes);
    char reason[160];
    std::snprintf(reason, sizeof reason,
                  "mmap of a file was refused, because another rank cannot map it at %p (%s)",
                  pointer(order.address), std::strerror(-elsewhere));
    report_refused_call(reason, "let every rank open the file: same user, and /proc readable");
    return map_failed(-elsewhere);
  }
  return pointer(order.address);
}

void* FileMappings::map_here(const MapRequest& request) noexcept {
  const std::uintptr_t place = slice_.take(request.bytes, std::size_t{2} << 20);
  if (place == 0) return map_failed(ENOMEM);
  void* const mapped = os::map_pages(pointer(place), request.bytes, request.protection,
                                     request.flags | MAP_FIXED_NOREPLACE, request.file, request.offset);
  if (mapped != pointer(place)) {  // refused, or mapped elsewhere
    slice_.give_back(place, request.bytes);
    return mapped;
  }
  areas_.note({place, place + request.bytes, Reach::here, false});
  return mapped;
}

int FileMappings::unmap(void* address, std::size_t bytes) noexcept {
  const std::vector<Area> parts = areas_.forget(number(address), bytes);
  for (const Area& part : parts) {
    Order order{};
    order.kind = Order::Kind::unmap;
    order.address = part.begin;
    order.bytes = part.end - part.begin;
    carry_out(order, -1);
    if (part.reach == Reach::everywhere) order_others(order);
    reuse(order.address, order.bytes);
  }
  return 0;
}

void* FileMappings::attach(int segment, const void* wanted, int flags) noexcept {
  shmid_ds state{};
  if (::syscall(SYS_shmctl, segment, IPC_STAT, &state) != 0) return map_failed(errno);
  Order order{};
  order.kind = Order::Kind::attach;
  order.bytes = (state.shm_segsz + os::page_bytes() - 1) / os::page_bytes() * os::page_bytes();
  order.file = segment;
  order.flags = flags & ~(SHM_RND | SHM_REMAP);
  order.address = number(wanted);
  if ((flags & SHM_RND) != 0) order.address -= order.address % os::page_bytes();
  if (order.address == 0) order.address = slice_.take(order.bytes, os::page_bytes());
  if (order.address == 0) return map_failed(ENOMEM);
  int error = carry_out(order, -1);
  if (error == 0) {
    error = order_others(order);
    if (error == 0) return pointer(order.address);
    detach(pointer(order.address));
    report_refused_call("shmat was refused, because another rank cannot attach the segment there",
                        "leave the address to shmat");
    return map_failed(-error);
  }
  if (number(wanted) == 0) slice_.give_back(order.address, order.bytes);
  return map_failed(-error);
}

int FileMappings::detach(const void* address) noexcept {
  const std::optional<Area> area = areas_.at(address);
  Order order{};
  order.kind = Order::Kind::detach;
  order.address = number(address);
  order.bytes = area ? area->end - area->begin : 0;
  const int result = carry_out(order, -1);
  if (result != 0) return fail(-result);
  order_others(order);
  reuse(order.address, order.bytes);
  return 0;
}

int FileMappings::protect(void* address, std::size_t bytes, int protection) noexcept {
  const std::optional<Area> area = areas_.at(address);
  if (!area || area->reach == Reach::here) return os::protect_pages(address, bytes, protection);
  if (area->is_private && (protection & PROT_WRITE) != 0) {
    report_refused_call(
        "mprotect was refused: it would make a private mapping of a file writable that all ranks see",
        "ask mmap for PROT_WRITE");
    return fail(EACCES);
  }
  Order order{};
  order.kind = Order::Kind::protect;
  order.address = number(address);
  order.bytes = bytes;
  order.protection = protection;
  return order_all(order, Reach::everywhere);
}

void* FileMappings::remap(void* address, std::size_t old_bytes, std::size_t new_bytes,
                          bool may_move) noexcept {
  const std::optional<Area> area = areas_.at(address);
  if (new_bytes <= old_bytes) {
    if (new_bytes < old_bytes) unmap(static_cast<char*>(address) + new_bytes, old_bytes - new_bytes);
    return address;
  }
  if (!area || area->end - number(address) < old_bytes) return map_failed(EFAULT);
  Order order{};
  order.kind = Order::Kind::remap;
  order.address = order.new_address = number(address);
  order.bytes = old_bytes;
  order.new_bytes = new_bytes;
  if (!slice_.take_at(number(address) + old_bytes, new_bytes - old_bytes)) {
    order.new_address = may_move ? slice_.take(new_bytes, os::page_bytes()) : 0;
    if (order.new_address == 0) return map_failed(ENOMEM);
  }
  if (order_all(order, area->reach) != 0) return MAP_FAILED;
  if (order.new_address != order.address) reuse(order.address, old_bytes);
  return pointer(order.new_address);
}

}  // namespace musubi::image
