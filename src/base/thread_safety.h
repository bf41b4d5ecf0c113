// Which lock guards what, for clang's analysis of threads (-Wthread-safety, an error in the clang build).
// Other compilers see nothing of it. It follows calls, not coroutines: what a task holds across a suspension
// (a Gate) is not annotated.
#pragma once

#if defined(__clang__)
#define MUSUBI_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define MUSUBI_THREAD_ATTRIBUTE(attribute)
#endif

// Of a type: it is a lock; it holds one as long as it lives.
#define MUSUBI_LOCK_TYPE MUSUBI_THREAD_ATTRIBUTE(capability("lock"))
#define MUSUBI_SCOPED_LOCK_TYPE MUSUBI_THREAD_ATTRIBUTE(scoped_lockable)

// Of a member: touched only while the lock is held.
#define MUSUBI_GUARDED_BY(lock) MUSUBI_THREAD_ATTRIBUTE(guarded_by(lock))

// Of a function: the caller holds the lock; takes it; gives it back; takes it if the result is `success`.
#define MUSUBI_REQUIRES(...) MUSUBI_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define MUSUBI_ACQUIRE(...) MUSUBI_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define MUSUBI_RELEASE(...) MUSUBI_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define MUSUBI_TRY_ACQUIRE(success) MUSUBI_THREAD_ATTRIBUTE(try_acquire_capability(success))
