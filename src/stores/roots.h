// The roots of a region's addresses that are found in its code.
#pragma once

#include <cstdint>
#include <vector>

#include "base/address_range.h"
#include "stores/loaded_objects.h"
#include "stores/value.h"

namespace musubi::stores {

class Roots {
 public:
  struct Found {
    // `number`: the memory of `object`. Else the pointer in the word at parent + offset.
    Root parent = Root::number;
    std::int64_t offset = 0;
    AddressRange object{};
    bool is_named = false;  // the code names the address where the object begins
  };

  // Memory at a known address, whose bytes belong together: a variable.
  Root object(const AddressRange& object, bool is_named) {
    return find_or_add({Root::number, 0, object, is_named});
  }
  // The target of the word at `parent` + `offset` when the region begins.
  Root cell(Root parent, std::int64_t offset) { return find_or_add({parent, offset, {}, false}); }

  const std::vector<Found>& all() const { return found_; }
  const Found& operator[](Root root) const { return found_[index_of(root)]; }
  static bool is_found(Root root) { return root >= Root::first_found; }
  static std::size_t index_of(Root root) {
    return static_cast<std::size_t>(root) - static_cast<std::size_t>(Root::first_found);
  }

 private:
  static constexpr std::size_t found_max = 64;

  // Root::number if there is no room: the address then counts as unknown.
  Root find_or_add(const Found& wanted);

  std::vector<Found> found_;
};

// Turns addresses named by code, and words loaded by it, into values.
class Places {
 public:
  explicit Places(const DataObjects& objects) : objects_(objects) {}

  // A number that may be the address of a variable.
  Value named(std::uintptr_t number);
  // The word loaded from `address`, which is in no frame.
  Value loaded(const Value& address);

  const Roots& roots() const { return roots_; }

 private:
  const DataObjects& objects_;
  Roots roots_;
};

}  // namespace musubi::stores
