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

Value Places::named(std::uintptr_t number) {
  const AddressRange object = objects_.object_at(number);
  const Root root = object.bytes == 0 ? Root::number : roots_.object(object, number == object.begin);
  return Value::exactly(root,
                        static_cast<std::int64_t>(root == Root::number ? number : number - object.begin));
}

Value Places::loaded(const Value& address) {
  if (!address.is_exact() || (address.root != Root::argument && !Roots::is_found(address.root))) return {};
  const Root root = roots_.cell(address.root, address.offset);
  return root == Root::number ? Value{} : Value::exactly(root, 0);
}

}  // namespace musubi::stores
