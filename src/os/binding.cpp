#include "os/binding.h"

#include <sys/syscall.h>

#include <atomic>
#include <utility>

#include "os/system_call.h"

namespace musubi::os {
namespace {

// Lives as long as the process, for one thread after another.
struct BoundThread {
  std::atomic<pid_t> id{0};  // 0: no longer bound
  std::atomic<bool> in_use{true};
  pthread_t handle{};
  BoundThread* next = nullptr;
};

// Global, because a query for a mask names no object of the runtime.
cpu_set_t mask_of_process, mask_of_rank;
bool is_bound = false;
std::atomic<BoundThread*> newest{nullptr};
// A thread's own entry, null if it was never bound; a child made by fork or vfork inherits it.
thread_local constinit BoundThread* bound_thread = nullptr;

bool is_bound_now() noexcept {
  return bound_thread != nullptr && bound_thread->id.load() != 0;
}

void set_mask(const cpu_set_t& mask) noexcept {
  system_call(SYS_sched_setaffinity, 0, sizeof mask, reinterpret_cast<long>(&mask));
}

BoundThread* find(pid_t thread) noexcept {
  if (thread == 0) return is_bound_now() ? bound_thread : nullptr;
  BoundThread* found = newest.load();
  while (found != nullptr && found->id.load() != thread) found = found->next;
  return found;
}

// One that an ended thread has left, or a new one.
BoundThread* take_entry() {
  for (BoundThread* entry = newest.load(); entry != nullptr; entry = entry->next) {
    if (!entry->in_use.exchange(true)) return entry;
  }
  auto* const entry = new BoundThread;
  entry->next = newest.load();
  while (!newest.compare_exchange_weak(entry->next, entry)) {
  }
  return entry;
}

}  // namespace

void bind_process(std::span<const std::uint32_t> processors) noexcept {
  CPU_ZERO(&mask_of_process);
  if (system_call(SYS_sched_getaffinity, 0, sizeof mask_of_process,
                  reinterpret_cast<long>(&mask_of_process)) < 0) {
    return;
  }
  CPU_ZERO(&mask_of_rank);
  for (const std::uint32_t processor : processors) {
    if (CPU_ISSET(processor, &mask_of_process)) CPU_SET(processor, &mask_of_rank);
  }
  is_bound = CPU_COUNT(&mask_of_rank) > 0;
  if (is_bound) set_mask(mask_of_rank);
}

void note_bound_thread() noexcept {
  if (!is_bound || is_bound_now()) return;
  if (bound_thread == nullptr) bound_thread = take_entry();
  bound_thread->handle = ::pthread_self();
  bound_thread->id.store(static_cast<pid_t>(system_call(SYS_gettid)));
}

void note_end_of_thread() noexcept {
  BoundThread* const entry = std::exchange(bound_thread, nullptr);
  if (entry == nullptr) return;
  entry->id.store(0);
  entry->in_use.store(false);
}

bool has_binding() noexcept {
  return is_bound_now();
}

void unbind_thread() noexcept {
  if (is_bound) set_mask(mask_of_process);
}

std::optional<cpu_set_t> mask_instead_of_binding(pid_t thread) noexcept {
  if (find(thread) == nullptr) return std::nullopt;
  return mask_of_process;
}

std::optional<pid_t> id_of_bound(pthread_t thread) noexcept {
  for (BoundThread* entry = newest.load(); entry != nullptr; entry = entry->next) {
    const pid_t id = entry->id.load();
    if (id != 0 && ::pthread_equal(entry->handle, thread) != 0) return id;
  }
  return std::nullopt;
}

void forget_binding(pid_t thread) noexcept {
  if (BoundThread* const found = find(thread)) found->id.store(0);
}

void move_thread(std::span<const std::uint32_t> processors) noexcept {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const std::uint32_t processor : processors) CPU_SET(processor, &mask);
  forget_binding(0);
  set_mask(mask);
}

Unbound::Unbound() noexcept : was_bound_(find(0) != nullptr) {
  if (was_bound_) set_mask(mask_of_process);
}

Unbound::~Unbound() {
  if (was_bound_) set_mask(mask_of_rank);
}

}  // namespace musubi::os
