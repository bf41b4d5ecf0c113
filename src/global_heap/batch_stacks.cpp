#include "global_heap/batch_stacks.h"

#include <span>
#include <utility>

#include "base/check.h"
#include "fabric/transfer.h"

namespace musubi::global_heap {

using fabric::Step;

namespace {

// A head: the number of the top node; the upper bits count the changes of the head. An exchange fails to
// notice a change only if it is delayed for a multiple of 2^28 changes that end at the same node.
constexpr unsigned number_bits = 36;
constexpr std::uint64_t number_mask = (std::uint64_t{1} << number_bits) - 1;
constexpr std::uint64_t one_change = std::uint64_t{1} << number_bits;

constexpr std::uint64_t number_of(std::uint64_t node) {
  return node / node_bytes + 1;
}
constexpr std::uint64_t node_of(std::uint64_t number) {
  return (number - 1) * node_bytes;
}
static_assert(number_of(std::uint64_t{1} << 44) <= number_mask);

std::uint64_t follow(std::uint64_t head, std::uint64_t number, const Hooks& hooks) {
  const std::uint64_t changes = hooks.injected(InjectedBug::heap_head_not_tagged) ? 0 : one_change;
  return ((head & ~number_mask) + changes) | number;
}

}  // namespace

Task<std::optional<std::uint64_t>> BatchStacks::pop(Rank owner, unsigned stack, Batch& content,
                                                    std::size_t bytes) {
  const std::uint64_t head_at = layout_.head_at(stack);
  std::uint64_t head = 0;
  const Step look = fabric::get(layout_.region(), head_at, &head, sizeof head);
  co_await fabric::transfer(fabric_, owner, std::span{&look, 1});
  for (unsigned attempt = 0;; ++attempt) {
    const std::uint64_t number = head & number_mask;
    if (number == 0) co_return std::nullopt;
    const Step read = fabric::get(layout_.region(), layout_.data_at(node_of(number)), &content, bytes);
    co_await fabric::transfer(fabric_, owner, std::span{&read, 1});
    // If the head has changed since, the content is from another use of the node, or torn.
    std::uint64_t seen = 0;
    const Step take = fabric::compare_swap(layout_.region(), head_at, &seen, head,
                                           follow(head, content.next & number_mask, hooks_));
    co_await fabric::transfer(fabric_, owner, std::span{&take, 1});
    if (seen == head) co_return node_of(number);
    head = seen;
    co_await pause(attempt);
  }
}

Task<> BatchStacks::push(Rank owner, unsigned stack, std::uint64_t node, Batch& content, std::size_t bytes) {
  MUSUBI_CHECK(node % node_bytes == 0);
  const std::uint64_t head_at = layout_.head_at(stack);
  const std::uint64_t node_at = layout_.data_at(node);
  std::uint64_t head = 0;
  const Step look = fabric::get(layout_.region(), head_at, &head, sizeof head);
  co_await fabric::transfer(fabric_, owner, std::span{&look, 1});
  for (unsigned attempt = 0;; ++attempt) {
    content.next = head & number_mask;
    std::uint64_t seen = 0;
    std::array<Step, 2> put_on{
        fabric::put(layout_.region(), node_at, &content, bytes),
        fabric::compare_swap(layout_.region(), head_at, &seen, head, follow(head, number_of(node), hooks_))};
    if (hooks_.injected(InjectedBug::heap_batch_shown_first)) std::swap(put_on[0], put_on[1]);
    co_await fabric::transfer(fabric_, owner, put_on);
    if (seen == head) co_return;
    head = seen;
    bytes = sizeof content.next;  // the other words are written already
    co_await pause(attempt);
  }
}

}  // namespace musubi::global_heap
