// Annotations for clang's thread-safety analysis (-Wthread-safety, an error in the clang build): which lock
// guards which data. Empty for other compilers. The analysis follows calls, not coroutines: a lock that a
// task holds across a suspension (a Gate) is not annotated.
#pragma once

#if defined(__clang__)
#define MUSUBI_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define MUSUBI_THREAD_ATTRIBUTE(attribute)
#endif

// On a type: it is a lock; it holds a lock during its lifetime.
#define MUSUBI_LOCK_TYPE MUSUBI_THREAD_ATTRIBUTE(capability("lock"))
#define MUSUBI_SCOPED_LOCK_TYPE MUSUBI_THREAD_ATTRIBUTE(scoped_lockable)

// On a member: accessed only while the lock is held.
#define MUSUBI_GUARDED_BY(lock) MUSUBI_THREAD_ATTRIBUTE(guarded_by(lock))

// On a function: the caller holds the lock; acquires it; releases it; acquires it if the result is `success`.
#define MUSUBI_REQUIRES(...) MUSUBI_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define MUSUBI_ACQUIRE(...) MUSUBI_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define MUSUBI_RELEASE(...) MUSUBI_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define MUSUBI_TRY_ACQUIRE(success) MUSUBI_THREAD_ATTRIBUTE(try_acquire_capability(success))

namespace musubi {

// Holds a lock during its lifetime: std::lock_guard with annotations.
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
