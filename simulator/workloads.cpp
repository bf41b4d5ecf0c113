// The workloads themselves. Blocks are numbered by node: those of node i begin at i times its share, and
// their initial home is there.
#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "simulator/workload.h"
#include "simulator/workload_space.h"
#include "simulator/workloads_of_shared_blocks.h"

namespace musubi::sim {
namespace {

// Two grids, as in heat: each iteration reads one and writes the other. A strip has its first row, its
// last row and two blocks in between that no other node reads.
class Stencil final : public Workload {
 public:
  explicit Stencil(std::uint32_t nodes) : Workload(nodes) {}
  vm::Space space() const override { return sliced_space(nodes_, 2 * rows); }

  Task<> iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) override {
    Node& node = cluster.node(rank);
    const std::uint32_t above = (rank + nodes_ - 1) % nodes_;
    const std::uint32_t below = (rank + 1) % nodes_;
    if (iteration != 0) {
      co_await expect_block(cluster, node, row(above, iteration - 1, rows - 1), value(above, iteration - 1));
      co_await expect_block(cluster, node, row(below, iteration - 1, 0), value(below, iteration - 1));
    }
    for (std::uint32_t i = 0; i < rows; ++i) {
      co_await write_block(node, row(rank, iteration, i), value(rank, iteration));
    }
    co_await meet(node);
  }

 private:
  static constexpr std::uint32_t rows = 4;
  static std::uint64_t row(std::uint32_t rank, std::uint32_t iteration, std::uint32_t number) {
    return rank * 2 * rows + iteration % 2 * rows + number;
  }
  static std::uint64_t value(std::uint32_t rank, std::uint32_t iteration) {
    return (std::uint64_t{iteration} + 1) << 32 | rank;
  }
};

// The vector is short: one block per node. Partial sums go up a tree whose nodes have sixteen children, each
// level in blocks of its own with a slot per child; rank 0 hands the sum out with the next barrier.
class Gather final : public Workload {
 public:
  explicit Gather(std::uint32_t nodes) : Workload(nodes) {
    std::uint64_t first = nodes;
    for (std::uint64_t width = nodes; width > 1;) {
      const std::uint64_t blocks = (width + fan_in - 1) / fan_in;
      levels_.push_back({first, width});
      first += blocks;
      width = blocks;
    }
    blocks_ = first;
  }
  vm::Space space() const override {
    vm::Space space(nodes_);
    space.add(segment(0x10000, nodes_, vm::InitialHome::slices, block_bytes));
    // The sums' blocks are spread over the nodes.
    space.add(segment(0x10000 + (nodes_ + 1) * block_bytes, blocks_ - nodes_, vm::InitialHome::cyclic));
    return space;
  }

  Task<> iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) override {
    Node& node = cluster.node(rank);
    if (iteration != 0) {
      for (std::uint32_t i = 0; i < pieces; ++i) {
        const std::uint32_t from = neighbour(rank, i);
        co_await expect_block(cluster, node, from, value(from, iteration - 1));
      }
    }
    std::uint64_t sum = rank + iteration;
    for (std::size_t level = 0; level < levels_.size(); ++level) {
      co_await add_up(node, rank, level, &sum);
    }
    co_await write_block(node, rank, value(rank, iteration));
    const std::uint64_t total = co_await meet(node, sum);
    const std::uint64_t wanted = std::uint64_t{nodes_} * (nodes_ - 1) / 2 + std::uint64_t{nodes_} * iteration;
    if (total != wanted) {
      cluster.violate("node %u got the sum %lu instead of %lu", rank, static_cast<unsigned long>(total),
                      static_cast<unsigned long>(wanted));
    }
  }

 private:
  static constexpr std::uint32_t pieces = 8;
  static constexpr std::uint64_t fan_in = 16;
  struct Level {
    std::uint64_t first_block;
    std::uint64_t width;  // sums that come in
  };

  std::uint32_t neighbour(std::uint32_t rank, std::uint32_t number) const {
    if (number < 4) return (rank + nodes_ + number - (number < 2 ? 2 : 1)) % nodes_;  // two on each side
    return static_cast<std::uint32_t>(mix(rank * pieces + number) % nodes_);
  }
  static std::uint64_t value(std::uint32_t rank, std::uint32_t iteration) {
    return (std::uint64_t{iteration} + 1) << 32 | rank;
  }
  // The members of a level are the ranks that are multiples of sixteen to its power.
  Task<> add_up(Node& node, std::uint32_t rank, std::size_t level, std::uint64_t* sum) {
    const Level& l = levels_[level];
    const unsigned shift = 4 * static_cast<unsigned>(level);
    const std::uint64_t member = rank >> shift;
    const bool takes_part = member << shift == rank;
    if (takes_part) {
      co_await node.write(BlockId{l.first_block + member / fan_in}, member % fan_in * 8,
                          std::as_bytes(std::span(sum, 1)));
    }
    co_await meet(node);
    if (!takes_part || member % fan_in != 0) co_return;
    std::uint64_t parts[fan_in];
    const std::uint64_t count = std::min(fan_in, l.width - member);
    co_await node.read(BlockId{l.first_block + member / fan_in}, 0,
                       std::as_writable_bytes(std::span(parts, count)));
    *sum = 0;
    for (std::uint64_t i = 0; i < count; ++i) *sum += parts[i];
  }

  std::vector<Level> levels_;
  std::uint64_t blocks_ = 0;
};

// The nodes form a rectangle as near to a square as can be. Each has a slab; in turn all nodes of a row and
// all of a column exchange pieces, as large as the slab divided by the number of partners allows, but at
// least a block.
class AllToAll final : public Workload {
 public:
  explicit AllToAll(std::uint32_t nodes) : Workload(nodes) {
    const auto bits = static_cast<unsigned>(std::bit_width(nodes) - 1);
    row_length_ = 1u << (bits + 1) / 2;
  }
  vm::Space space() const override { return sliced_space(nodes_, 2 * slab_blocks); }

  Task<> iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) override {
    Node& node = cluster.node(rank);
    for (std::uint64_t i = 0; i < slab_blocks; ++i) {
      co_await write_block(node, slab(rank, iteration) + i, value(rank, iteration));
    }
    co_await meet(node);
    const bool in_row = iteration % 2 == 0 || row_length_ == nodes_;
    const std::uint32_t partners = in_row ? row_length_ : nodes_ / row_length_;
    const std::uint32_t own_place = in_row ? rank % row_length_ : rank / row_length_;
    for (std::uint32_t place = 1; place < partners; ++place) {
      const std::uint32_t other = (own_place + place) % partners;  // not all at the same one at a time
      const std::uint32_t from = in_row ? rank - own_place + other : rank % row_length_ + other * row_length_;
      const std::uint64_t begin = own_place * slab_blocks / partners;
      const std::uint64_t end = std::max(begin + 1, (own_place + 1) * slab_blocks / partners);
      for (std::uint64_t i = begin; i < end; ++i) {
        co_await expect_block(cluster, node, slab(from, iteration) + i, value(from, iteration));
      }
    }
    co_await meet(node);
  }

 private:
  static constexpr std::uint64_t slab_blocks = 32;
  static std::uint64_t slab(std::uint32_t rank, std::uint32_t iteration) {
    return (std::uint64_t{rank} * 2 + iteration % 2) * slab_blocks;
  }
  static std::uint64_t value(std::uint32_t rank, std::uint32_t iteration) {
    return (std::uint64_t{iteration} + 1) << 32 | rank;
  }
  std::uint32_t row_length_;
};

class ReadMostly final : public Workload {
 public:
  explicit ReadMostly(std::uint32_t nodes) : Workload(nodes) {}
  vm::Space space() const override {
    vm::Space space(nodes_);
    space.add(segment(0x10000, written, vm::InitialHome::one_rank));
    space.add(segment(0x10000 + (written + 1) * block_bytes, constant, vm::InitialHome::cyclic));
    return space;
  }
  std::uint32_t warm_up() const override { return 8; }  // leases grow longer for a while
  void prepare(Cluster& cluster) override {
    for (std::uint64_t i = written; i < written + constant; ++i) {
      Node& home = cluster.node(cluster.space().initial_home(BlockId{i}).value);
      std::memset(home.private_bytes(BlockId{i}), 0x11, block_bytes);
      home.protocol().adopt(BlockId{i}, 1);
    }
  }

  Task<> iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) override {
    Node& node = cluster.node(rank);
    if (rank == 0) {
      for (std::uint64_t i = 0; i < written; ++i) co_await write_block(node, i, iteration + 1);
    }
    co_await meet(node);
    for (std::uint64_t i = 0; i < written + constant; ++i) {
      co_await expect_block(cluster, node, i, i < written ? iteration + 1 : 0x1111111111111111u);
    }
    co_await meet(node);
  }

 private:
  static constexpr std::uint64_t written = 4;
  static constexpr std::uint64_t constant = 16;
};

// Half as many records as nodes: in each iteration two nodes want each record, a different pair each time.
class Migratory final : public Workload {
 public:
  explicit Migratory(std::uint32_t nodes) : Workload(nodes), updates_(nodes / 2) {
    stride_ = static_cast<std::uint32_t>(nodes * 0.618) | 1;
  }
  vm::Space space() const override {
    vm::Space space(nodes_);
    space.add(segment(0x10000, nodes_ / 2, vm::InitialHome::cyclic));
    return space;
  }
  std::uint32_t locks() const override { return nodes_ / 2; }
  // A node's knowledge about doubles with each lock that it takes.
  std::uint32_t warm_up() const override { return static_cast<std::uint32_t>(std::bit_width(nodes_)) + 4; }

  Task<> iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) override {
    Node& node = cluster.node(rank);
    const std::uint64_t record = (rank + std::uint64_t{iteration} * stride_) % nodes_ / 2;
    const LockId lock{static_cast<std::uint32_t>(record)};
    const std::uint64_t notices = node.counters().get(trace::Counter::notices_received);
    co_await node.locks().lock(lock);
    co_await read_notices(node, notices);
    std::uint64_t fields[8];
    co_await node.read(BlockId{record}, 0, std::as_writable_bytes(std::span(fields)));
    if (fields[0] != updates_[record]) {
      cluster.violate("node %u read %lu in record %lu instead of %lu", rank,
                      static_cast<unsigned long>(fields[0]), static_cast<unsigned long>(record),
                      static_cast<unsigned long>(updates_[record]));
    }
    for (std::uint64_t& field : fields) ++field;
    co_await node.write(BlockId{record}, 0, std::as_bytes(std::span(fields)));
    updates_[record] = fields[0];
    co_await node.locks().unlock(lock);
  }

 private:
  std::uint32_t stride_;
  std::vector<std::uint64_t> updates_;  // of each record
};

}  // namespace

std::unique_ptr<Workload> Workload::make(WorkloadKind kind, std::uint32_t nodes) {
  switch (kind) {
    case WorkloadKind::stencil:
      return std::make_unique<Stencil>(nodes);
    case WorkloadKind::gather:
      return std::make_unique<Gather>(nodes);
    case WorkloadKind::all_to_all:
      return std::make_unique<AllToAll>(nodes);
    case WorkloadKind::read_mostly:
      return std::make_unique<ReadMostly>(nodes);
    case WorkloadKind::migratory:
      return std::make_unique<Migratory>(nodes);
    case WorkloadKind::gather_scatter:
      return make_gather_scatter(nodes);
    case WorkloadKind::task_queue:
      return make_task_queue(nodes);
    case WorkloadKind::small_regions:
      return make_small_regions(nodes);
    case WorkloadKind::count:
      break;
  }
  MUSUBI_CHECK(false, "no such workload");
  __builtin_unreachable();
}

}  // namespace musubi::sim
