// gcc's lists of dependences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/frame_pool.h"
#include "omp/tasks/dependences.h"

namespace musubi::omp::gomp {

// Two forms. Old: the number of dependences, that of the `out` and `inout` ones among them, then addresses,
// those first. New: 0, the number of dependences, then those of `out`, of `mutexinoutset` and of `in`, then
// addresses in that order, and addresses of depend objects for the rest.
class Dependences {
 public:
  explicit Dependences(void* const* list);
  std::span<const Dependence> all() const { return dependences_; }

 private:
  void add(const void* address, DependenceKind kind);
  // A depend object: the address of the variable, and the kind.
  void add_object(const void* object);

  std::vector<Dependence, FrameAllocator<Dependence>> dependences_;
};

}  // namespace musubi::omp::gomp
