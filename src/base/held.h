// Holds a lock during its lifetime: std::lock_guard with annotations for clang's thread-safety analysis.
#pragma once

#include "base/thread_safety.h"

namespace musubi {

template <class Lock>
class [[nodiscard]] MUSUBI_SCOPED_LOCK_TYPE Held {
 public:
  explicit Held(Lock& lock) MUSUBI_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  ~Held() MUSUBI_RELEASE() { lock_.unlock(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  Lock& lock_;
};

}  // namespace musubi
