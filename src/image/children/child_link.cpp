#include "image/children/child_link.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>
#include <string>

#include "os/futex.h"

namespace musubi::image {
namespace {

// how long the child waits before it checks that its parent lives
constexpr std::uint64_t look_ns = 100'000'000;

std::uint32_t process_id() noexcept {
  return static_cast<std::uint32_t>(::syscall(SYS_getpid));
}

}  // namespace

Result<ChildLink*> ChildLink::make() {
  void* const memory =
      ::mmap(nullptr, sizeof(ChildLink), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return Error{std::string("no memory for fork: ") + ::strerror(errno)};
  auto* const link = new (memory) ChildLink{};
  link->answered_.store(answered);
  link->parent_ = static_cast<pid_t>(process_id());
  return link;
}

void ChildLink::drop() noexcept {
  closed_.store(true);
  answered_.store(never);
  os::futex_wake(answered_);
  ::munmap(this, sizeof *this);
}

void ChildLink::enter() noexcept {
  held_.list.next = &entry_;
  held_.futex_offset = reinterpret_cast<char*>(&alive_) - reinterpret_cast<char*>(&entry_);
  held_.list_op_pending = nullptr;
  entry_.next = &held_.list;
  alive_.store(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
  ::syscall(SYS_set_robust_list, &held_, sizeof held_);
  os::futex_wake(alive_);
}

bool ChildLink::ask(Question question, std::uintptr_t address, std::size_t bytes,
                    std::uint64_t& answer) noexcept {
  std::uint32_t nobody = 0;
  while (!asking_.compare_exchange_weak(nobody, process_id())) {
    nobody = 0;
    if (closed_.load()) return false;
    const timespec pause{0, 100'000};
    ::syscall(SYS_nanosleep, &pause, nullptr);
  }
  question_ = question;
  address_ = address;
  bytes_ = bytes;
  answered_.store(not_yet);
  // The parent waits on this futex only while the bit is set.
  alive_.fetch_and(~static_cast<std::uint32_t>(FUTEX_WAITERS));
  os::futex_wake(alive_);
  while (answered_.load() == not_yet) {
    if (closed_.load() || ::syscall(SYS_kill, parent_, 0) != 0) return false;
    os::futex_wait(answered_, not_yet, look_ns);
  }
  const bool known = answered_.load() == answered;
  answer = answer_;
  asking_.store(0);
  return known;
}

ChildLink::Event ChildLink::wait(std::chrono::nanoseconds time) noexcept {
  std::uint32_t seen = alive_.load();
  if (seen != 0 && (seen & FUTEX_OWNER_DIED) == 0) seen = alive_.fetch_or(FUTEX_WAITERS) | FUTEX_WAITERS;
  if ((seen & FUTEX_OWNER_DIED) != 0) return Event::ended;
  if (answered_.load() == not_yet) return Event::question;
  os::futex_wait(alive_, seen, static_cast<std::uint64_t>(time.count()));
  return (alive_.load() & FUTEX_OWNER_DIED) != 0 ? Event::ended : Event::nothing;
}

void ChildLink::answer(std::uint64_t value) noexcept {
  answer_ = value;
  answered_.store(answered);
  os::futex_wake(answered_);
}

}  // namespace musubi::image
