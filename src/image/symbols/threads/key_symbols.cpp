// Keys of thread-specific data (image/threads/thread_keys.h). Private libraries keep keys of their own.
#include <pthread.h>
#include <threads.h>

#include "heap/heap.h"
#include "image/start/job.h"
#include "image/symbols/calling_library.h"
#include "image/symbols/exported.h"

namespace {

using musubi::heap::process_heap;
using namespace musubi::image;

constinit Next<int (*)(pthread_key_t*, ThreadKeys::Destructor)> next_create("pthread_key_create");
constinit Next<int (*)(pthread_key_t)> next_remove("pthread_key_delete");

// Null if the key is private to this process.
ThreadKeys* keys_for(const void* caller) {
  Job* const job = job_of_ranks();
  if (job == nullptr || !process_heap.serves(caller)) return nullptr;
  return musubi::image::is_in_private_library(*job, caller) ? nullptr : &job->keys;
}

int create(pthread_key_t* key, ThreadKeys::Destructor destructor, const void* caller) {
  ThreadKeys* const keys = keys_for(caller);
  return keys == nullptr ? next_create.get()(key, destructor) : keys->create(key, destructor);
}
int remove(pthread_key_t key, const void* caller) {
  ThreadKeys* const keys = keys_for(caller);
  return keys == nullptr ? next_remove.get()(key) : keys->remove(key);
}

}  // namespace

MUSUBI_EXPORT int pthread_key_create(pthread_key_t* key, ThreadKeys::Destructor destructor) noexcept {
  return create(key, destructor, MUSUBI_CALLER);
}
MUSUBI_EXPORT int pthread_key_delete(pthread_key_t key) noexcept {
  return remove(key, MUSUBI_CALLER);
}
MUSUBI_EXPORT int tss_create(tss_t* key, tss_dtor_t destructor) {
  return create(key, destructor, MUSUBI_CALLER) == 0 ? thrd_success : thrd_error;
}
MUSUBI_EXPORT void tss_delete(tss_t key) {
  remove(key, MUSUBI_CALLER);
}
