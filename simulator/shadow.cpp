#include "simulator/shadow.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace musubi::sim {

Shadow::Shadow(std::size_t bytes, std::uint32_t actors)
    : actors_(actors), clocks_(std::size_t{actors} * actors), values_(bytes), epochs_(bytes) {
  for (std::uint32_t actor = 0; actor < actors; ++actor) time(actor, actor) = 1;
}

void Shadow::give(std::uint32_t actor, Baton& baton) {
  const std::uint32_t* own = &time(actor, 0);
  for (std::uint32_t i = 0; i < actors_; ++i) baton[i] = std::max(baton[i], own[i]);
  ++time(actor, actor);
}

void Shadow::take(std::uint32_t actor, const Baton& baton) {
  std::uint32_t* own = &time(actor, 0);
  for (std::uint32_t i = 0; i < actors_; ++i) own[i] = std::max(own[i], baton[i]);
}

void Shadow::check_ordered(std::uint32_t actor, std::size_t offset, std::size_t count) const {
  for (std::size_t i = offset; i < offset + count; ++i) {
    const Epoch epoch = epochs_[i];
    MUSUBI_CHECK(epoch.time <= clocks_[std::size_t{actor} * actors_ + epoch.actor],
                 "the generated program races at byte %zu: threads %u and %u", i, epoch.actor, actor);
  }
}

void Shadow::write(std::uint32_t actor, std::size_t offset, std::span<const std::byte> bytes) {
  check_ordered(actor, offset, bytes.size());
  write_atomically(actor, offset, bytes);
}

bool Shadow::read(std::uint32_t actor, std::size_t offset, std::span<const std::byte> bytes) const {
  check_ordered(actor, offset, bytes.size());
  return equals(offset, bytes);
}

bool Shadow::equals(std::size_t offset, std::span<const std::byte> bytes) const {
  return std::memcmp(values_.data() + offset, bytes.data(), bytes.size()) == 0;
}

void Shadow::write_atomically(std::uint32_t actor, std::size_t offset, std::span<const std::byte> bytes) {
  std::memcpy(values_.data() + offset, bytes.data(), bytes.size());
  std::fill_n(epochs_.begin() + static_cast<std::ptrdiff_t>(offset), bytes.size(),
              Epoch{actor, time(actor, actor)});
}

void Shadow::set_initial(std::size_t offset, std::span<const std::byte> bytes) {
  std::memcpy(values_.data() + offset, bytes.data(), bytes.size());
}

}  // namespace musubi::sim
