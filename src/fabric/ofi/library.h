// libfabric, loaded on first use into a namespace of its own (dlmopen) with its own C library. So its calls
// of malloc, open, sigaction and pthread_create never reach the runtime or the program, in any thread or
// signal handler, and the program may use another libfabric. A C library prepares only threads that it
// creates itself, so each of our threads calls enter() before its first call of the library.
#pragma once

#include <rdma/fabric.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/thread_safety.h"
#include "os/cpu.h"
#include "os/futex.h"

namespace musubi::fabric::ofi {

// The exported functions of the library; other functions are reached through its objects. Never unloaded.
class Library {
 public:
  // The one of this process. Errors: there is none, or it is older than 1.11. Not while other threads may
  // call it.
  static Result<const Library*> load();

  int (*getinfo)(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                 const fi_info* hints, fi_info** info) = nullptr;
  void (*freeinfo)(fi_info* info) = nullptr;
  fi_info* (*dupinfo)(const fi_info* info) = nullptr;
  int (*open_fabric)(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) = nullptr;
  const char* (*text_of_error)(int error) = nullptr;
  std::uint32_t (*version)() = nullptr;

  // Prepares the calling thread. Signal-safe, and cheap after the first call.
  void enter() const noexcept {
    if (!has_entered) prepare_thread();
  }

  // As in "1.17".
  std::string version_text() const;

 private:
  // A public function of the C library that returns where a thread keeps its character tables.
  using Table = const void** (*)();
  static constexpr std::size_t tables = 3;

  Result<void> find();
  void prepare_thread() const noexcept;

  static inline thread_local bool has_entered = false;
  Table table_of_thread_[tables]{};
  const void* table_[tables]{};
};

// The requested version of the interface: Ubuntu 22.04 has 1.11.
inline constexpr std::uint32_t api_version = FI_VERSION(1, 11);

struct InfoDeleter {
  const Library* library;
  void operator()(fi_info* info) const { library->freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoDeleter>;

struct Closer {
  template <typename Object>
  void operator()(Object* object) const {
    object->fid.ops->close(&object->fid);
  }
};
template <typename Object>
using Owned = std::unique_ptr<Object, Closer>;

// A lock around calls of libfabric. The library's own locks spin: where threads outnumber cores, a thread
// that lost its processor would block all other threads for its whole absence. So libfabric is opened without
// them (FI_THREAD_DOMAIN), and a waiting thread sleeps. Signal-safe; not a lock of the C library, which the
// runtime intercepts.
class MUSUBI_LOCK_TYPE CallLock {
 public:
  void lock() noexcept MUSUBI_ACQUIRE() {
    for (unsigned i = 0; i < spins; ++i) {
      std::uint32_t expected = open;
      if (word_.compare_exchange_strong(expected, held)) return;
      os::pause_instruction();
    }
    while (word_.exchange(held_and_wanted) != open) os::futex_wait(word_, held_and_wanted);
  }
  void unlock() noexcept MUSUBI_RELEASE() {
    if (word_.exchange(open) == held_and_wanted) os::futex_wake(word_, 1);
  }

 private:
  static constexpr std::uint32_t open = 0, held = 1, held_and_wanted = 2;
  static constexpr unsigned spins = 64;  // some microseconds, the duration of a call

  std::atomic<std::uint32_t> word_{open};
};

}  // namespace musubi::fabric::ofi
