#include "sync/room_keeper.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/check.h"
#include "coherence/regions.h"
#include "fabric/transfer.h"

namespace musubi::sync {

using coherence::control_region;
using fabric::Step;

RoomKeeper::RoomKeeper(fabric::Fabric& fabric, coherence::Room& room, FlagOrder& flags,
                       const MemoryBudget& budget, Waker& waker, std::byte* own, std::uint64_t offset)
    : fabric_(fabric),
      room_(room),
      flags_(flags),
      budget_(budget),
      waker_(waker),
      own_(own),
      offset_(offset),
      drawn_(fabric.self().value),
      asked_(fabric.ranks()) {
  fabric.listen(fabric::MessageKind::room, this);
  publish();
}

const char* RoomKeeper::on_message(Rank from, std::span<const std::byte> body) noexcept {
  if (!body.empty()) return "it asks for room by a message that is damaged";
  if (asked_[from.value].exchange(true)) return nullptr;
  asks_.fetch_add(1);
  waker_.wake();
  return nullptr;
}

std::size_t RoomKeeper::free_bytes() const noexcept {
  const std::size_t held = budget_.held(), allowed = budget_.allowed();
  return allowed > held ? allowed - held : 0;
}

// Bytes to free before `bytes` more fit. The rank may already hold more than it is allowed, because of blocks
// that a barrier has published.
std::size_t RoomKeeper::missing_for(std::size_t bytes) const noexcept {
  const std::size_t wanted = budget_.held() + bytes, allowed = budget_.allowed();
  return wanted > allowed ? wanted - allowed : 0;
}

void RoomKeeper::publish() noexcept {
  word(own().room).store(free_bytes() + room_.copy_bytes());
}

Task<std::size_t> RoomKeeper::make(std::size_t bytes) {
  auto pass = co_await making_.enter();
  std::size_t freed = co_await room_.throw_out(bytes);
  if (freed < bytes) co_await release_in_order();
  while (freed < bytes) {
    const std::size_t moved = co_await move_homes(bytes - freed);
    if (moved == 0) break;
    freed += moved;
  }
  if (freed < bytes) freed += co_await sift_homes(bytes - freed);
  publish();
  co_return freed;
}

// For homes of other ranks.
Task<> RoomKeeper::make_room_for(std::size_t bytes) {
  if (const std::size_t missing = missing_for(bytes); missing != 0) (void)co_await room_.throw_out(missing);
  if (const std::size_t missing = missing_for(bytes); missing != 0) (void)co_await sift_homes(missing);
}

// While order is kept, no block is released alone. All are then released, as of one moment: blocks that are
// not written again at once can be evicted.
Task<> RoomKeeper::release_in_order() {
  if (!flags_.in_use()) co_return;
  const std::uint64_t request = co_await flags_.request_own_release();
  for (unsigned look = 0; !asks_nobody_.load() && !flags_.has_released(request, look); ++look) {
    if (is_asked()) co_await serve();
    co_await pause(look);
  }
}

// Brings homes that stay here to rest: they need no public copies. Also finds blocks listed as homes that are
// homes no more, because another rank has written them. Result: bytes freed.
Task<std::size_t> RoomKeeper::sift_homes(std::size_t bytes) {
  std::array<BlockId, offered_max> homes;
  std::size_t freed = 0;
  for (std::size_t seen = 0; freed + room_.copy_bytes() < bytes && seen < room_.resident_bytes();) {
    const coherence::Offer offer = co_await room_.offer(homes);
    MUSUBI_CHECK(offer.count <= homes.size());
    freed += offer.freed_bytes;
    freed += co_await room_.end_offer(std::span<const BlockId>(homes).first(offer.count));
    if (offer.count == 0) break;
    seen += offer.count * room_.smallest_block_bytes();
  }
  if (freed < bytes) freed += co_await room_.throw_out(bytes - freed);
  co_return freed;
}

// If no word shows room, asks the ranks in turn: a word may be out of date, because it does not count the
// homes that other ranks have taken over from that rank. Result: 0 if nothing can be freed at the moment.
Task<std::size_t> RoomKeeper::move_homes(std::size_t bytes) {
  bool some_tell_of_room = true;
  for (std::uint32_t attempt = 0; attempt < 2 * fabric_.ranks(); ++attempt) {
    const std::size_t most = std::clamp<std::size_t>(bytes / room_.smallest_block_bytes(), 1, offered_max);
    const std::span<BlockId> blocks(own().offered.data(), most);
    const coherence::Offer offer = co_await room_.offer(blocks);
    MUSUBI_CHECK(offer.count <= most);
    const std::span<const BlockId> offered = blocks.first(offer.count);
    std::size_t freed = offer.freed_bytes;
    if (offer.count != 0 && freed < bytes && fabric_.ranks() > 1) {
      std::optional<Rank> taker;
      if (some_tell_of_room) taker = co_await find_taker();
      some_tell_of_room = taker.has_value();
      word(own().count).store(offer.count);
      (void)co_await ask(taker.value_or(rank_after(attempt)));
    }
    freed += co_await room_.end_offer(offered);
    if (freed != 0 || offer.count == 0) co_return freed;
  }
  co_return 0;
}

// Result: the bytes that `taker` has taken over.
Task<std::size_t> RoomKeeper::ask(Rank taker) {
  MUSUBI_CHECK(taker != fabric_.self());
  word(own().answer).store(0);
  co_await fabric::deliver(fabric_, taker, fabric::MessageKind::room, fabric::Urgency::promptly, {});
  for (unsigned attempt = 0; !asks_nobody_.load(); ++attempt) {
    if (const std::uint64_t answer = word(own().answer).load(); answer != 0) co_return answer - 1;
    if (is_asked()) co_await serve();  // otherwise two ranks could wait for each other
    co_await pause(attempt);
  }
  co_return 0;
}

Task<> RoomKeeper::serve() {
  auto pass = co_await serving_.enter();
  for (std::uint32_t rank = 0; rank < fabric_.ranks() && is_asked(); ++rank) {
    if (!asked_[rank].exchange(false)) continue;
    const std::uint32_t before = asks_.fetch_sub(1);
    MUSUBI_CHECK(before != 0);
    co_await serve_one(Rank{rank});
  }
}

Task<> RoomKeeper::serve_one(Rank from) {
  MUSUBI_CHECK(from != fabric_.self());
  Words asked{};
  const std::array<Step, 1> look{fabric::get(control_region, offset_, &asked, sizeof asked)};
  co_await fabric::transfer(fabric_, from, look);
  MUSUBI_CHECK(asked.count <= offered_max);
  const std::size_t wanted = asked.count * room_.largest_block_bytes();
  co_await make_room_for(wanted);
  const std::size_t taken =
      co_await room_.take_over(std::span<const BlockId>(asked.offered).first(asked.count), free_bytes());
  publish();
  const std::uint64_t answer = taken + 1;
  const std::array<Step, 1> tell{
      fabric::put(control_region, offset_ + offsetof(Words, answer), &answer, sizeof answer)};
  co_await fabric::transfer(fabric_, from, tell);
}

// The better of two ranks; if neither has room, the first rank with room. Result: none if no word shows room.
Task<std::optional<Rank>> RoomKeeper::find_taker() {
  const std::uint32_t ranks = fabric_.ranks();
  const std::uint64_t least = room_.largest_block_bytes();
  const Rank first = draw_rank(), second = draw_rank();
  const std::uint64_t room_of_first = co_await room_at(first);
  const std::uint64_t room_of_second = co_await room_at(second);
  if (std::max(room_of_first, room_of_second) >= least)
    co_return room_of_first >= room_of_second ? first : second;
  for (std::uint32_t i = 0; i + 1 < ranks; ++i) {
    const std::uint64_t room = co_await room_at(rank_after(i));
    if (room >= least) co_return rank_after(i);
  }
  co_return std::nullopt;
}

Task<std::uint64_t> RoomKeeper::room_at(Rank rank) {
  MUSUBI_CHECK(rank.value < fabric_.ranks());
  std::uint64_t room = 0;
  const std::array<Step, 1> look{
      fabric::get(control_region, offset_ + offsetof(Words, room), &room, sizeof room)};
  co_await fabric::transfer(fabric_, rank, look);
  co_return room;
}

Rank RoomKeeper::draw_rank() {
  MUSUBI_CHECK(fabric_.ranks() > 1);
  drawn_ = drawn_ * 6364136223846793005u + 1442695040888963407u;
  return rank_after(static_cast<std::uint32_t>((drawn_ >> 33) % (fabric_.ranks() - 1)));
}

// The other ranks, in turn.
Rank RoomKeeper::rank_after(std::uint32_t step) const {
  MUSUBI_CHECK(fabric_.ranks() > 1);
  return Rank{(fabric_.self().value + 1 + step % (fabric_.ranks() - 1)) % fabric_.ranks()};
}

}  // namespace musubi::sync
