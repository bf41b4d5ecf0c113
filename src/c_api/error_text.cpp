// musubi.h: error codes as text.
#include "base/export.h"
#include "musubi/musubi.h"

MUSUBI_EXPORT const char* musubi_error_text(int error) {
  switch (error) {
    case MUSUBI_OK:
      return "no error";
    case MUSUBI_ERROR_STATE:
      return "not inside a job: call between musubi_init and musubi_finalize, which are called once each";
    case MUSUBI_ERROR_START:
      return "the job cannot be joined: see the line on standard error";
    case MUSUBI_ERROR_ADDRESS:
      return "not shared memory: pass an address that musubi_alloc returned";
    case MUSUBI_ERROR_ALIGNMENT:
      return "unaligned word: atomic operations want a multiple of the word's size";
    case MUSUBI_ERROR_LOCK:
      return "no such lock or condition: numbers are below MUSUBI_LOCK_COUNT, MUSUBI_RWLOCK_COUNT, "
             "MUSUBI_COND_COUNT";
    case MUSUBI_ERROR_HELD:
      return "the lock is held by this thread: locks are not recursive";
    case MUSUBI_ERROR_NOT_HELD:
      return "the lock is not held by this thread: the thread that took it releases it";
    case MUSUBI_BUSY:
      return "the lock is not free: try again later, or wait for it";
    case MUSUBI_TIMEOUT:
      return "no signal arrived in time: the lock is held again";
    case MUSUBI_ERROR_ARGUMENT:
      return "no such rank, type, operation or attribute, or a size out of range: see the function's comment "
             "in musubi.h";
    case MUSUBI_ERROR_MEMORY:
      return "no addresses are left for shared memory with attributes: raise segments_bytes (--set)";
    default:
      return "no error code of Musubi";
  }
}
