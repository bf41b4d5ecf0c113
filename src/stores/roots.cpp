#include "stores/roots.h"

namespace musubi::stores {

Root Roots::find_or_add(const Found& wanted) {
  const auto root_at = [](std::size_t i) {
    return static_cast<Root>(static_cast<std::size_t>(Root::first_found) + i);
  };
  for (std::size_t i = 0; i < found_.size(); ++i) {
    const Found& found = found_[i];
    if (found.parent == wanted.parent && found.offset == wanted.offset &&
        found.object.begin == wanted.object.begin && found.is_named == wanted.is_named)
      return root_at(i);
  }
  if (found_.size() == found_max) return Root::number;
  found_.push_back(wanted);
  return root_at(found_.size() - 1);
}

}  // namespace musubi::stores
