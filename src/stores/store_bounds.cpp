#include "stores/store_bounds.h"

#include "stores/x86_64_search.h"

namespace musubi::stores {

// After a change of the loaded objects there may be other code at the same addresses, and other functions of
// the same names.
StoreBound StoreBounds::of(std::uintptr_t function, const Begin& begin) {
  if (code_.refresh()) {
    data_.refresh(code_);
    regions_.clear();
  }
  auto found = regions_.find(function);
  if (found == regions_.end())
    found = regions_.emplace(function, x86_64::find_stores(function, code_, data_)).first;
  return bound_of(found->second, begin, data_, objects_);
}

}  // namespace musubi::stores
