#include "stores/places.h"

namespace musubi::stores {

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
