// libfabric, loaded when a job first wants it, in a space of its own (dlmopen) with a C library of its own.
// So its calls of malloc, open, sigaction and pthread_create never come to the runtime or to the program,
// whatever thread or signal handler they are made in, and a program may have another libfabric. A C library
// prepares the threads that it makes itself; so each of ours says enter() before its first call.
#pragma once

#include <rdma/fabric.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"

namespace musubi::fabric::ofi {

// What the library exports; all else goes through tables of objects. Never unloaded.
class Library {
 public:
  // The one of this process. Errors: there is none, or it is older than 1.11. Before threads may race.
  static Result<const Library*> load();

  int (*getinfo)(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
                 const fi_info* hints, fi_info** info) = nullptr;
  void (*freeinfo)(fi_info* info) = nullptr;
  fi_info* (*dupinfo)(const fi_info* info) = nullptr;
  int (*open_fabric)(fi_fabric_attr* attributes, fid_fabric** fabric, void* context) = nullptr;
  const char* (*text_of_error)(int error) = nullptr;
  std::uint32_t (*version)() = nullptr;

  // Prepares the calling thread. Signal-safe, and cheap from the second time on.
  void enter() const noexcept {
    if (!has_entered) prepare_thread();
  }

  // As in "1.17".
  std::string version_text() const;

 private:
  // Where a thread of that C library finds how characters are sorted; public functions of it.
  using Table = const void** (*)();
  static constexpr std::size_t tables = 3;

  Result<void> find();
  void prepare_thread() const noexcept;

  static inline thread_local bool has_entered = false;
  Table table_of_thread_[tables]{};
  const void* table_[tables]{};
};

// The interface that is asked for: Ubuntu 22.04 has 1.11.
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

}  // namespace musubi::fabric::ofi
