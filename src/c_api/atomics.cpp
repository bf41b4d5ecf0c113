// musubi.h: atomic operations on words of shared memory.
#include "base/export.h"
#include "c_api/job.h"
#include "heap/heap.h"
#include "musubi/musubi.h"

namespace {

using musubi::AtomicOperation;
using Kind = AtomicOperation::Kind;

// Executes the operation on *word. `old` may be null.
template <class Word>
int execute(const Word* word, Kind kind, Word operand, Word compare, Word* old) {
  auto* const job = musubi::c_api::current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  const auto address = reinterpret_cast<std::uintptr_t>(word);
  if (!job->is_shared(word, sizeof(Word))) return MUSUBI_ERROR_ADDRESS;
  if (address % sizeof(Word) != 0) return MUSUBI_ERROR_ALIGNMENT;
  const musubi::AtomicValue before =
      job->runtime.synchronization().atomic(address, AtomicOperation{kind, sizeof(Word), operand, compare});
  if (old != nullptr) *old = static_cast<Word>(before);
  return MUSUBI_OK;
}

}  // namespace

MUSUBI_EXPORT int musubi_atomic_load_32(const uint32_t* word, uint32_t* value) {
  return value == nullptr ? MUSUBI_ERROR_ADDRESS : execute<uint32_t>(word, Kind::load, 0, 0, value);
}
MUSUBI_EXPORT int musubi_atomic_load_64(const uint64_t* word, uint64_t* value) {
  return value == nullptr ? MUSUBI_ERROR_ADDRESS : execute<uint64_t>(word, Kind::load, 0, 0, value);
}
MUSUBI_EXPORT int musubi_atomic_store_32(uint32_t* word, uint32_t value) {
  return execute<uint32_t>(word, Kind::store, value, 0, nullptr);
}
MUSUBI_EXPORT int musubi_atomic_store_64(uint64_t* word, uint64_t value) {
  return execute<uint64_t>(word, Kind::store, value, 0, nullptr);
}
MUSUBI_EXPORT int musubi_atomic_fetch_add_32(uint32_t* word, uint32_t amount, uint32_t* old) {
  return execute<uint32_t>(word, Kind::add, amount, 0, old);
}
MUSUBI_EXPORT int musubi_atomic_fetch_add_64(uint64_t* word, uint64_t amount, uint64_t* old) {
  return execute<uint64_t>(word, Kind::add, amount, 0, old);
}
MUSUBI_EXPORT int musubi_atomic_compare_swap_32(uint32_t* word, uint32_t expected, uint32_t desired,
                                                uint32_t* old) {
  return execute<uint32_t>(word, Kind::compare_exchange, desired, expected, old);
}
MUSUBI_EXPORT int musubi_atomic_compare_swap_64(uint64_t* word, uint64_t expected, uint64_t desired,
                                                uint64_t* old) {
  return execute<uint64_t>(word, Kind::compare_exchange, desired, expected, old);
}
