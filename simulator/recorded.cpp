#include "simulator/recorded.h"

#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>
#include <unordered_set>
#include <utility>

namespace musubi::sim {
namespace {

using Interval = Recording::Interval;
using Item = Recording::Item;
using Clock = std::vector<std::uint32_t>;  // by rank: how many of its intervals are known

// The last write of some bytes of a block.
struct Piece {
  std::size_t begin, end;
  std::uint32_t writer;
  std::uint32_t time;  // of the writer
  std::byte value;
};

class Recorded final : public Workload {
 public:
  explicit Recorded(const Recording& recording)
      : Workload(recording.ranks()),
        recording_(recording),
        space_(recording.space()),
        clocks_(nodes_, Clock(nodes_)),
        barriers_{Clock(nodes_), Clock(nodes_)},
        locks_(recording.locks(), Clock(nodes_)),
        channels_(recording.channels()),
        pieces_(space_.blocks()),
        changes_paid_(nodes_),
        stops_(nodes_),
        progress_(nodes_),
        together_(recording.together()) {
    for (std::uint32_t rank = 0; rank < nodes_; ++rank) clocks_[rank][rank] = 1;
    for (Channel& channel : channels_) channel.clock.resize(nodes_);
  }

  vm::Space space() const override { return space_; }
  std::uint32_t locks() const override { return std::max(recording_.locks(), 1u); }
  std::uint32_t warm_up() const override { return 1; }
  std::uint64_t stops(std::uint32_t rank) const override { return stops_[rank]; }
  Task<> iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) override;

 private:
  // A rank in one of its intervals.
  struct Place {
    Cluster& cluster;
    Node& node;
    const Interval& interval;
    std::unordered_set<std::uint64_t> written;  // blocks
    std::uint32_t rank() const { return node.self().value; }
  };

  // Passes knowledge on by releases; one acquire waits for each.
  struct Channel {
    Clock clock;
    std::size_t releases = 0, acquires = 0;
    std::deque<Event> released;
  };
  struct Progress {
    std::size_t intervals = 0;
    std::uint32_t barriers = 0;
  };

  static std::vector<BlockId> blocks_of(const vm::Space& space, AddressRange range);
  Task<> protect(Place& place);
  Task<> touch(Place& place, Item item);
  Task<> stop_at(Place& place, BlockId block, vm::Access wanted);
  Task<> read(Place& place, BlockId block);
  Task<> write(Place& place, BlockId block, AddressRange overwritten);
  Task<> write_piece(Place& place, BlockId block, std::size_t begin, std::size_t end);
  void note(Place& place, BlockId block, Piece piece);
  Task<> synchronise(Place& place, std::uint32_t& barriers);
  Task<> pass_on(Place& place);
  static void join(Clock& into, const Clock& from);
  void give(std::uint32_t rank, Clock& baton);

  const Recording& recording_;
  const vm::Space space_;
  std::vector<Clock> clocks_;
  std::array<Clock, 2> barriers_;
  std::vector<Clock> locks_;
  std::vector<Channel> channels_;
  std::vector<std::map<std::size_t, Piece>> pieces_;  // by block, and where they begin
  std::vector<std::uint64_t> changes_paid_;           // of protection, by rank
  std::uint64_t writes_ = 0;
  std::vector<std::uint64_t> stops_;  // by rank
  std::vector<Progress> progress_;    // by rank
  const Recording::Barriers together_;
};

Task<> Recorded::iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) {
  const std::span<const Interval> intervals = recording_.intervals(rank);
  const std::uint32_t end = iteration == 0 ? together_.first : together_.last;
  Progress& at = progress_[rank];
  for (; at.barriers < end && at.intervals < intervals.size(); ++at.intervals) {
    Place place{cluster, cluster.node(rank), intervals[at.intervals], {}};
    const Interval& interval = place.interval;
    for (const Item& item : interval.items) {
      if (cluster.violated()) co_return;
      co_await touch(place, item);
      co_await protect(place);
    }
    co_await synchronise(place, at.barriers);
    co_await protect(place);
  }
}

// The time of the calls that the protocol has made since the last time.
Task<> Recorded::protect(Place& place) {
  std::uint64_t& paid = changes_paid_[place.rank()];
  const std::uint64_t changes = place.node.vm().changes();
  const std::uint64_t unpaid = changes - std::exchange(paid, changes);
  const bool pays = !place.cluster.space().segment_of(BlockId{0}).unprotected;
  if (unpaid != 0 && pays) co_await fabric::sim::think(unpaid * protection_ns);
}

// A range may end outside of all that was touched.
std::vector<BlockId> Recorded::blocks_of(const vm::Space& space, AddressRange range) {
  std::vector<BlockId> blocks;
  for (std::uintptr_t at = range.begin; at - range.begin < range.bytes;) {
    const auto block = space.block_at(at);
    if (!block) break;
    blocks.push_back(*block);
    const vm::Extent extent = space.extent(*block);
    at = extent.address + extent.bytes;
  }
  return blocks;
}

Task<> Recorded::touch(Place& place, Item item) {
  using Touch = Recording::Touch;
  const bool reads = item.touch == Touch::read_fault || item.touch == Touch::read;
  const bool overwrites = item.touch == Touch::overwrite;
  if (overwrites) co_await place.node.overwrite(item.range);
  if (item.touch == Touch::store) co_await place.node.open_for_stores(item.range);
  if (item.touch == Touch::read || item.touch == Touch::write) {
    co_await place.node.open_all(std::span(&item.range, 1), reads ? vm::Access::read : vm::Access::write);
  }
  for (const BlockId block : blocks_of(space_, item.range)) {
    if (reads) {
      co_await read(place, block);
    } else {
      co_await write(place, block, overwrites ? item.range : AddressRange{});
    }
  }
}

Task<> Recorded::stop_at(Place& place, BlockId block, vm::Access wanted) {
  const bool is_protected = !place.cluster.space().segment_of(block).unprotected;
  if (!is_protected || place.node.vm().allows(block, wanted)) co_return;
  ++stops_[place.rank()];
  co_await fabric::sim::think(fault_ns);
}

Task<> Recorded::read(Place& place, BlockId block) {
  co_await stop_at(place, block, vm::Access::read);
  std::vector<std::byte> bytes(space_.extent(block).bytes);
  co_await place.node.read(block, 0, bytes);
  const Clock& clock = clocks_[place.rank()];
  for (const auto& [begin, piece] : pieces_[block.value]) {
    if (piece.time > clock[piece.writer]) continue;
    if (bytes[piece.begin] == piece.value && bytes[piece.end - 1] == piece.value) continue;
    place.cluster.violate(
        "node %u read %x and %x instead of %x, which node %u wrote, at byte %zu of block %lu", place.rank(),
        static_cast<unsigned>(bytes[piece.begin]), static_cast<unsigned>(bytes[piece.end - 1]),
        static_cast<unsigned>(piece.value), piece.writer, piece.begin,
        static_cast<unsigned long>(block.value));
  }
}

// All changes of the interval, at the first touch; each byte of `overwritten`, at each.
Task<> Recorded::write(Place& place, BlockId block, AddressRange overwritten) {
  co_await stop_at(place, block, vm::Access::write);
  const vm::Extent extent = space_.extent(block);
  const auto offset_of = [&](std::uintptr_t address) {
    return std::clamp(address, extent.address, extent.address + extent.bytes) - extent.address;
  };
  const std::vector<AddressRange>& changes = place.interval.changes;
  auto change = std::ranges::lower_bound(changes, extent.address, {}, &AddressRange::begin);
  if (!place.written.insert(block.value).second) change = changes.end();
  for (; change != changes.end() && change->begin < extent.address + extent.bytes; ++change) {
    co_await write_piece(place, block, offset_of(change->begin), offset_of(change->begin + change->bytes));
  }
  if (overwritten.bytes != 0) {
    co_await write_piece(place, block, offset_of(overwritten.begin),
                         offset_of(overwritten.begin + overwritten.bytes));
  }
  co_await place.node.write(block, 0, {});  // without a change too
}

Task<> Recorded::write_piece(Place& place, BlockId block, std::size_t begin, std::size_t end) {
  const auto value = static_cast<std::byte>(writes_++ % 255 + 1);
  const std::vector<std::byte> bytes(end - begin, value);
  co_await place.node.write(block, begin, bytes);
  note(place, block, {begin, end, place.rank(), clocks_[place.rank()][place.rank()], value});
}

// The new piece replaces parts of old ones.
void Recorded::note(Place& place, BlockId block, Piece piece) {
  std::map<std::size_t, Piece>& pieces = pieces_[block.value];
  auto at = pieces.upper_bound(piece.begin);
  if (at != pieces.begin() && std::prev(at)->second.end > piece.begin) --at;
  while (at != pieces.end() && at->first < piece.end) {
    Piece before = at->second, after = at->second;
    if (before.time > clocks_[piece.writer][before.writer]) {
      place.cluster.violate("the recording has a race: nodes %u and %u write byte %zu of the block at %lx",
                            before.writer, piece.writer, std::max(before.begin, piece.begin),
                            static_cast<unsigned long>(space_.extent(block).address));
    }
    at = pieces.erase(at);
    before.end = std::min(before.end, piece.begin);
    after.begin = std::max(after.begin, piece.end);
    if (before.begin < before.end) pieces.emplace(before.begin, before);
    if (after.begin < after.end) at = pieces.emplace(after.begin, after).first;
  }
  pieces.emplace(piece.begin, piece);
}

void Recorded::join(Clock& into, const Clock& from) {
  std::ranges::transform(into, from, into.begin(), [](auto a, auto b) { return std::max(a, b); });
}

void Recorded::give(std::uint32_t rank, Clock& baton) {
  join(baton, clocks_[rank]);
  ++clocks_[rank][rank];
}

Task<> Recorded::synchronise(Place& place, std::uint32_t& barriers) {
  Node& node = place.node;
  Clock& clock = clocks_[place.rank()];
  const LockId lock{place.interval.number};
  const std::uint64_t notices = node.counters().get(trace::Counter::notices_received);
  switch (place.interval.end) {
    case Recording::End::barrier: {
      Clock& baton = barriers_[barriers++ % 2];
      give(place.rank(), baton);
      co_await meet(node);
      join(clock, baton);
      co_return;
    }
    case Recording::End::lock:
      co_await node.lock(lock);
      join(clock, locks_[lock.value]);
      co_return co_await read_notices(node, notices);
    case Recording::End::unlock:
      give(place.rank(), locks_[lock.value]);
      co_return co_await node.unlock(lock);
    case Recording::End::release:
    case Recording::End::acquire:
      co_return co_await pass_on(place);
    case Recording::End::program:
      co_return;
  }
}

// The word that tells of the release takes a trip in one direction.
Task<> Recorded::pass_on(Place& place) {
  Channel& channel = channels_[place.interval.number];
  const bool releases = place.interval.end == Recording::End::release;
  const std::size_t turn = releases ? channel.releases++ : channel.acquires++;
  while (channel.released.size() <= turn) channel.released.emplace_back();
  if (releases) {
    give(place.rank(), channel.clock);
    co_await place.node.release(place.interval.number);
    co_return channel.released[turn].set();
  }
  co_await channel.released[turn];
  co_await fabric::sim::think(place.cluster.configuration().model.latency_ns);
  co_await place.node.acquire(place.interval.number);
  join(clocks_[place.rank()], channel.clock);
}

}  // namespace

std::unique_ptr<Workload> recorded(const Recording& recording) {
  return std::make_unique<Recorded>(recording);
}

}  // namespace musubi::sim
