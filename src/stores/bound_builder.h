// Makes a StoreBound of narrow places, of which it has room for a few.
#pragma once

#include "base/store_bound.h"

namespace musubi::stores {

class BoundBuilder {
 public:
  // `widest`: no piece is left whole that is wider.
  explicit BoundBuilder(std::uint32_t widest) { bound_.bytes = widest; }

  std::uint32_t widest() const { return bound_.bytes; }
  // Where there is no room for one more, two places become one in smaller steps, or no piece wider than an
  // int is left whole. Result: false when neither helps.
  bool add(const NarrowPlace& place);
  // No piece is left whole that is wider; places that are as wide say nothing then.
  void limit(std::uint32_t widest);

  const StoreBound& bound() const { return bound_; }

 private:
  NarrowPlace* begin() { return bound_.places.data(); }
  NarrowPlace* end() { return bound_.places.data() + bound_.place_count; }
  bool join(const NarrowPlace& place);

  StoreBound bound_;
};

}  // namespace musubi::stores
