#include "task_stealing/signature_order.h"

#include <cstring>

#include "base/check.h"
#include "coherence/regions.h"
#include "coherence/scope.h"

namespace musubi::task_stealing {

using coherence::control_region;

SignatureOrder::SignatureOrder(fabric::Fabric& fabric, coherence::Protocol& protocol, sync::FlagOrder& flags,
                               std::span<std::byte> control, const sync::SignaturePlace& place)
    : protocol_(protocol),
      flags_(flags),
      self_(fabric.self()),
      place_(place),
      signatures_(fabric, protocol, place.offset, place.notices_max, place.hooks) {
  regions_[control_region.value] = {control.data(), control.size()};
}

// Other threads of the rank run: they count as siblings.
Task<> SignatureOrder::release() {
  co_await flags_.hand_over(protocol_.release(coherence::Scope::everything(), false), true);
}

std::size_t SignatureOrder::news_since(std::uint64_t stamp, std::span<std::byte> room) noexcept {
  fabric::CallEnd end{};
  if (room.size() < sizeof end) return 0;
  const sync::SinceRequest request{stamp};
  fabric::Call call(self_, self_, regions_, std::as_bytes(std::span(&request, 1)), room.subspan(sizeof end));
  end.verdict = sync::signature_since(call, &place_);
  if (end.verdict != sync::since::complete) return 0;
  end.bytes = static_cast<std::uint32_t>(call.result_bytes());
  std::memcpy(room.data(), &end, sizeof end);
  return sizeof end + end.bytes;
}

Task<> SignatureOrder::acquire(Rank giver, std::span<const std::byte> news) {
  coherence::Scope scope = coherence::Scope::everything();
  scope.giver = giver;
  sync::SignatureReader::Look look(signatures_);
  const bool has_news = !news.empty();
  if (has_news) {
    MUSUBI_CHECK(news.size() <= look.answer_room().size());
    std::memcpy(look.answer_room().data(), news.data(), news.size());
    look.take_answer();
  }
  co_await signatures_.acquire(look, scope, has_news);
  if (protocol_.ordering().holds_back()) co_await flags_.acquire(true);
}

}  // namespace musubi::task_stealing
