#include "sim/node.h"

#include <cstring>

#include "base/check.h"
#include "coherence/core/signature.h"

namespace musubi::sim {

using coherence::control_region;
using coherence::published_region;
using coherence::words_region;
using fabric::MessageKind;

sync::ControlLayout Node::control_layout(std::uint32_t ranks, const NodeOptions& options) {
  sync::ControlSizes sizes;
  sizes.ranks = ranks;
  sizes.notices_max = options.protocol.signature_notices_max;
  sizes.signature_bytes = coherence::signature_bytes(options.protocol.signature_notices_max);
  sizes.lock_count = options.locks;
  return sync::ControlLayout::of(sizes);
}

coherence::RankMemory Node::memory() {
  return {private_[0].bytes, published_[0].bytes, words_.data(), entries_.data(), control(layout_.signature)};
}

Node::Node(fabric::sim::SimFabric& fabric, const vm::Space& space,
           const coherence::PrivateParts* private_parts, const NodeOptions& options)
    : fabric_(fabric),
      space_(space),
      options_(options),
      layout_(control_layout(fabric.ranks(), options)),
      vm_(space.blocks()),
      private_(space.bytes() / 64 + 1),
      published_(space.bytes() / 64 + 1),
      words_(space.blocks()),
      entries_(space.blocks()),
      control_(layout_.bytes / sizeof(std::uint64_t)),
      protocol_(space, fabric, vm_, fabric.counters(), grants_, memory(), options_.protocol, private_parts),
      barrier_(fabric, protocol_, fabric.counters(), control(layout_.barrier_board), layout_.barrier_board,
               options_.protocol.signature_notices_max),
      locks_(fabric, protocol_, fabric.counters(), grants_, control(layout_.lock_words), layout_.lock_words,
             options_.locks, layout_.signature, options_.protocol.signature_notices_max),
      clock_(fabric, protocol_, layout_.clock_word) {
  fabric.attach({words_region, reinterpret_cast<std::byte*>(words_.data()),
                 words_.size() * sizeof(coherence::BlockWords)});
  fabric.attach({published_region, published_[0].bytes, space.bytes()});
  fabric.attach({control_region, control(0), layout_.bytes});
  fabric.listen(MessageKind::lock_granted, &grants_);
  fabric.listen(MessageKind::barrier, &barrier_);
}

Task<> Node::open(BlockId block, vm::Access wanted) {
  while (!vm_.allows(block, wanted)) {
    vm::Access told = wanted;
    if (options_.coarse_faults && !vm_.allows(block, vm::Access::read)) told = vm::Access::read;
    const bool granted = co_await protocol_.fault(block, told);
    MUSUBI_CHECK(granted, "the protocol refuses block %lu", static_cast<unsigned long>(block.value));
  }
}

Task<> Node::read(BlockId block, std::size_t begin, std::span<std::byte> into) {
  if (!vm_.allows(block, vm::Access::read)) co_await open(block, vm::Access::read);
  std::memcpy(into.data(), private_bytes(block) + begin, into.size());
}

Task<> Node::write(BlockId block, std::size_t begin, std::span<const std::byte> from) {
  if (!vm_.allows(block, vm::Access::write)) co_await open(block, vm::Access::write);
  std::memcpy(private_bytes(block) + begin, from.data(), from.size());
}

Task<> Node::barrier(sync::Barrier::Payload& payload) {
  if (++met_ < options_.threads) {
    Meeting meeting{{}, &payload, meetings_};
    meetings_ = &meeting;
    co_await meeting.met;
    co_return;
  }
  Meeting* waiting = meetings_;
  met_ = 0;
  meetings_ = nullptr;
  co_await barrier_.arrive(payload, true);
  while (waiting != nullptr) {
    Meeting* next = waiting->next;
    *waiting->payload = payload;
    waiting->met.set();
    waiting = next;
  }
}

}  // namespace musubi::sim
