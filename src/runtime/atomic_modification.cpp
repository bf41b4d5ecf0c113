#include "runtime/atomic_modification.h"

#include <cstring>

namespace musubi::runtime {
namespace {

// Changes a word of the live bytes by a processor atomic: another thread of this rank may store to it plainly
// at the same time (a spin lock that is given back), and that store must not vanish between our load and our
// store.
template <class Word>
AtomicValue modify_word(std::byte* place, const AtomicOperation& operation) noexcept {
  auto* word = reinterpret_cast<Word*>(place);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, static_cast<Word>(musubi::apply(operation, old)), false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return old;
}

}  // namespace

void AtomicModification::apply(std::byte* block) noexcept {
  std::byte* place = block + offset;
  const bool aligned = reinterpret_cast<std::uintptr_t>(place) % operation_.bytes == 0;
  switch (aligned ? operation_.bytes : 0) {
    case 1:
      old_ = modify_word<std::uint8_t>(place, operation_);
      return;
    case 2:
      old_ = modify_word<std::uint16_t>(place, operation_);
      return;
    case 4:
      old_ = modify_word<std::uint32_t>(place, operation_);
      return;
    case 8:
      old_ = modify_word<std::uint64_t>(place, operation_);
      return;
    default:
      break;
  }
  std::memcpy(&old_, place, operation_.bytes);
  const AtomicValue next = musubi::apply(operation_, old_);
  std::memcpy(place, &next, operation_.bytes);
}

}  // namespace musubi::runtime
