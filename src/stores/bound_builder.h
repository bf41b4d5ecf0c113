// Builds a StoreBound from narrow places, of which it holds only a few.
#pragma once

#include "base/store_bound.h"

namespace musubi::stores {

class BoundBuilder {
 public:
  // `widest`: no piece wider than this stays whole.
  explicit BoundBuilder(std::uint32_t widest) { bound_.bytes = widest; }

  std::uint32_t widest() const { return bound_.bytes; }
  // If there is no room for another place, joins two places with a smaller stride, or limits the whole pieces
  // to the width of an int. Result: false if neither helps.
  bool add(const NarrowPlace& place);
  // No piece wider than `widest` stays whole; places with pieces of that width or wider become redundant.
  void limit(std::uint32_t widest);

  const StoreBound& bound() const { return bound_; }

 private:
  NarrowPlace* begin() { return bound_.places.data(); }
  NarrowPlace* end() { return bound_.places.data() + bound_.place_count; }
  bool join(const NarrowPlace& place);

  StoreBound bound_;
};

}  // namespace musubi::stores
