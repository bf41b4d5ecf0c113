#include "stores/store_bounds.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "stores/bound_builder.h"
#include "stores/x86_64_search.h"

namespace musubi::stores {
namespace {

constexpr std::uint32_t word_bytes = 8, int_bytes = 4;

std::uintptr_t end_of(const AddressRange& range) {
  return range.begin + range.bytes;
}

bool overlap(std::uintptr_t a, std::size_t a_bytes, std::uintptr_t b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

// The addresses of a region's roots when it begins.
class Addresses {
 public:
  Addresses(const RegionStores& region, const Begin& begin, const DataObjects& data,
            const MemoryKinds& objects)
      : region_(region), begin_(begin), data_(data), objects_(objects) {
    for (std::size_t i = 0; i < region.roots.all().size(); ++i) found_.push_back(find(region.roots.all()[i]));
  }

  // Nothing: unknown.
  std::optional<std::uintptr_t> of(Root root) const {
    if (root == Root::argument) return begin_.argument;
    return Roots::is_found(root) ? found_[Roots::index_of(root)] : std::nullopt;
  }
  // The memory that a store at `value` may write to.
  AddressRange reach(const Value& value) const;
  // Whether some store of the region may change the word that holds this pointer, or one on the way to it.
  bool may_change(Root root) const;

 private:
  std::optional<std::uintptr_t> find(const Roots::Found& root) const;
  bool may_change(const Roots::Found& cell, const Site& site) const;

  const RegionStores& region_;
  const Begin& begin_;
  const DataObjects& data_;
  const MemoryKinds& objects_;
  std::vector<std::optional<std::uintptr_t>> found_;
};

std::optional<std::uintptr_t> Addresses::find(const Roots::Found& root) const {
  if (root.parent == Root::number) return root.object.begin;
  const std::optional<std::uintptr_t> parent = of(root.parent);
  if (!parent) return std::nullopt;
  const std::uintptr_t cell = *parent + static_cast<std::uintptr_t>(root.offset);
  const auto is_readable = [this](std::uintptr_t address) {
    return objects_.kind_of(address) != MemoryKinds::Kind::apart || data_.segment_at(address).bytes != 0;
  };
  if (!is_readable(cell) || !is_readable(cell + word_bytes - 1)) return std::nullopt;
  std::uintptr_t pointer;
  std::memcpy(&pointer, reinterpret_cast<const void*>(cell), sizeof pointer);
  return pointer;
}

// Compilers fold a constant part of an index into the address of a variable, and the sum may be inside
// another one. An address belongs to this variable for certain if the code has named its beginning, or if it
// is in the first element; any other address may belong to any variable.
AddressRange Addresses::reach(const Value& value) const {
  const std::uintptr_t address = *of(value.root);
  if (begin_.frames.contains(address)) return begin_.frames;
  if (value.root == Root::argument) return objects_.allocations_at(address);
  const Roots::Found& root = region_.roots[value.root];
  const bool is_first =
      value.offset >= 0 && !value.backward && (value.is_exact() || value.offset < std::int64_t{value.stride});
  if (root.parent == Root::number) {
    const bool is_inside = static_cast<std::uint64_t>(value.offset) < root.object.bytes && !value.backward;
    return is_inside && (is_first || root.is_named) ? root.object : data_.segment_at(address);
  }
  const AddressRange variable = data_.object_at(address);
  if (variable.bytes != 0) return is_first ? variable : data_.segment_at(address);
  return objects_.allocations_at(address);
}

bool Addresses::may_change(const Roots::Found& cell, const Site& site) const {
  const std::optional<std::uintptr_t> parent = of(cell.parent), base = of(site.address.root);
  if (!parent || !base) return false;  // checked where the address is needed
  const std::uintptr_t place = *parent + static_cast<std::uintptr_t>(cell.offset);
  if (site.address.is_exact())
    return overlap(place, word_bytes, *base + static_cast<std::uintptr_t>(site.address.offset), site.bytes);
  const AddressRange range = reach(site.address);
  return overlap(place, word_bytes, range.begin, range.bytes);
}

bool Addresses::may_change(Root root) const {
  if (!Roots::is_found(root) || region_.roots[root].parent == Root::number) return false;
  const Roots::Found& cell = region_.roots[root];
  return region_.changes_pointers || may_change(cell.parent) ||
         std::ranges::any_of(region_.sites, [&](const Site& site) { return may_change(cell, site); });
}

// The widest piece that divides all of these.
std::uint32_t unit_of(std::uintptr_t address, std::uint32_t stride, std::uint32_t bytes) {
  return 1u << std::countr_zero(address | stride | bytes | word_bytes);
}

}  // namespace

// After a change of the loaded objects there may be other code at the same addresses, and other functions of
// the same names.
StoreBound StoreBounds::of(std::uintptr_t function, const Begin& begin, Passes passes) {
  if (code_.refresh()) {
    data_.refresh(code_);
    regions_.clear();
  }
  auto found = regions_.find(function);
  if (found == regions_.end())
    found = regions_.emplace(function, x86_64::find_stores(function, passes, code_, data_)).first;
  return bound_of(found->second, begin, data_, objects_);
}

StoreBound bound_of(const RegionStores& region, const Begin& begin, const DataObjects& data,
                    const MemoryKinds& objects) {
  if (!region.is_known) return {};
  const Addresses addresses(region, begin, data, objects);
  BoundBuilder builder(region.words);
  std::uint32_t widest = 1;
  for (const Site& site : region.sites) {
    const Value& to = site.address;
    if (site.is_atomic) continue;
    const std::optional<std::uintptr_t> base = addresses.of(to.root);
    if (!base || addresses.may_change(to.root)) return {};
    const std::uintptr_t place = *base + static_cast<std::uintptr_t>(to.offset);
    const MemoryKinds::Kind kind = objects.kind_of(*base);
    // A word that is no valid address may be an index, with the pointer unknown.
    if (kind == MemoryKinds::Kind::apart && Roots::is_found(to.root) &&
        region.roots[to.root].parent != Root::number)
      return {};
    // Frames of the region belong to its threads.
    if (kind != MemoryKinds::Kind::shared && !begin.frames.contains(*base)) continue;
    const std::uint32_t unit = unit_of(place, to.stride, site.bytes);
    widest = std::max(widest, unit);
    if (unit >= builder.widest()) continue;
    const AddressRange reach = to.is_exact() ? AddressRange{place, site.bytes} : addresses.reach(to);
    if (!builder.add({reach.begin, end_of(reach), place, to.stride, static_cast<std::uint16_t>(site.bytes),
                      static_cast<std::uint16_t>(unit)}))
      return {};
  }
  builder.limit(widest);
  StoreBound bound = builder.bound();
  if (bound.bytes < int_bytes) return {};
  // Most regions reach a stack only through the argument.
  if (!region.writes_storage && begin.argument != 0) bound.of_stacks = begin.frames;
  return bound;
}

}  // namespace musubi::stores
