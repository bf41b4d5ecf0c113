// The shared parts of a block, in stretches between which others may act (in a simulation).
#pragma once

#include <algorithm>

#include "coherence/migrating/engine.h"

namespace musubi::coherence::migrating {

template <class Visit>
void Engine::for_each_part(const Block& b, Visit&& visit) {
  if (private_parts_ == nullptr) {
    for_each_stretch(0, b.extent.bytes, visit);
    return;
  }
  const std::size_t begin = b.extent.offset;
  private_parts_->for_each_shared_part(begin, begin + b.extent.bytes, [&](std::size_t from, std::size_t to) {
    for_each_stretch(from - begin, to - from, visit);
  });
}

template <class Visit>
void Engine::for_each_stretch(std::size_t at, std::size_t bytes, Visit& visit) {
  while (interruption_ != nullptr && bytes != 0) {
    // Words move as a whole, on every machine.
    constexpr std::size_t word = sizeof(std::uint64_t);
    const std::size_t end = (at + interruption_->stretch(bytes) + word - 1) / word * word;
    const std::size_t stretch = std::min(bytes, end - at);
    visit(at, stretch);
    at += stretch;
    bytes -= stretch;
    interruption_->pass();
  }
  if (bytes != 0) visit(at, bytes);
}

}  // namespace musubi::coherence::migrating
