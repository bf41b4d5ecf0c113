// The uses of the program's shared memory, for the rules about its stores.
#pragma once

#include "runtime/api/synchronization.h"
#include "runtime/start/address_plan.h"
#include "stores/objects.h"

namespace musubi::runtime {

class ProgramObjects final : public stores::Objects {
 public:
  // `plan` outlives this object.
  explicit ProgramObjects(const AddressPlan& plan) : plan_(plan) {}

  void set_allocations(const Synchronization::Allocations* allocations) { allocations_ = allocations; }

  Kind kind_of(std::uintptr_t address) const noexcept override {
    const vm::Segment* const segment = plan_.space.segment_at(address);
    if (segment == nullptr) return Kind::apart;
    return segment->holds_stacks ? Kind::stack : Kind::shared;
  }
  // Outside the heap: the segment.
  AddressRange allocations_at(std::uintptr_t address) const noexcept override {
    const vm::Segment* const segment = plan_.space.segment_at(address);
    if (segment == nullptr) return {};
    const bool is_heap = plan_.space.index_of(*segment) == plan_.heap_segment;
    if (is_heap && allocations_ != nullptr) return allocations_->allocations_at(address);
    return {segment->base, segment->bytes};
  }

 private:
  const AddressPlan& plan_;
  const Synchronization::Allocations* allocations_ = nullptr;
};

}  // namespace musubi::runtime
