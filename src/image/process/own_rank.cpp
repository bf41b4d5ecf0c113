#include "image/process/own_rank.h"

#include "base/check.h"

namespace musubi::image {

constinit OwnRank own_rank;

void become_rank(runtime::Runtime& runtime) noexcept {
  MUSUBI_CHECK(own_rank.of_memory == nullptr);
  own_rank.own = own_rank.of_memory = &runtime;
}

void note_program_runs() noexcept {
  MUSUBI_CHECK(own_rank.own != nullptr);
  own_rank.program_runs = true;
}

void become_child_of_rank() noexcept {
  MUSUBI_CHECK(own_rank.own != nullptr);
  own_rank.own = nullptr;
}

}  // namespace musubi::image
