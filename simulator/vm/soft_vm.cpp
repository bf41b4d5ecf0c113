#include "simulator/vm/soft_vm.h"

#include "base/check.h"

namespace musubi::vm {

void SoftVm::change(BlockRun run, Access from_least, Access from_most, Access to) noexcept {
  MUSUBI_CHECK(
      run.count > 0 && run.first.value < access_.size() && run.count <= access_.size() - run.first.value,
      "blocks %lu+%lu are outside the table", static_cast<unsigned long>(run.first.value),
      static_cast<unsigned long>(run.count));
  ++changes_;
  for (std::uint64_t block = run.first.value; block < run.first.value + run.count; ++block) {
    const Access from = access_[block];
    MUSUBI_CHECK(from_least <= from && from <= from_most, "block %lu has access %d and was to be given %d",
                 static_cast<unsigned long>(block), static_cast<int>(from), static_cast<int>(to));
    access_[block] = to;
  }
}

void SoftVm::set_storable(BlockRun run, bool storable) noexcept {
  for (std::uint64_t i = 0; i < run.count; ++i) storable_[run.first.value + i] = storable;
}

void SoftVm::close(BlockRun run) noexcept {
  const bool was_storable = storable_[run.first.value];
  set_storable(run, false);
  change(run, was_storable ? Access::none : Access::read, Access::write, Access::none);
}

}  // namespace musubi::vm
