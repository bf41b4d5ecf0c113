#include "simulator/workloads_of_shared_blocks.h"

#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "simulator/workload_space.h"

namespace musubi::sim {
namespace {

// The value of word `word` of the space since round `round`; no other word has it, nor this one in another
// round. Every byte changes from round to round, so that a torn write is found.
constexpr std::uint64_t value_at(std::uint64_t word, std::uint32_t round) {
  return (round + 1) * 0x0101010101010101u + word;
}

// Constant edges lead from each node to four other nodes, and from four nodes to each. An edge carries the
// sum of two cells, one at each end, which is added at both ends: to cells of a boundary block, one for each
// writer. Then the owner of the block takes the sums and begins again.
class GatherScatter final : public Workload {
 public:
  explicit GatherScatter(std::uint32_t nodes) : Workload(nodes) {
    Random random(0x3e54);
    for (std::size_t edge = 0; edge < edges; ++edge) connect(&targets_[edge], &sources_[edge], random);
  }
  vm::Space space() const override { return sliced_space(nodes_, blocks_per_node); }

  Task<> iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) override {
    Node& node = cluster.node(rank);
    if (iteration != 0) {
      for (std::uint32_t edge = 0; edge < edges; ++edge) {
        co_await follow(cluster, node, rank, edge, iteration - 1);
      }
      co_await meet(node);
      co_await expect_sums(cluster, node, rank, iteration - 1);
    }
    const std::uint64_t first = word_of(rank, 0, 0);
    co_await write_words(node, first, blocks_per_node * words_per_block, value_at(first, iteration));
    co_await meet(node);
  }

 private:
  static constexpr std::uint32_t edges = 4;
  static constexpr std::uint32_t cell_blocks = 4;
  static constexpr std::uint32_t boundary_blocks = 2;
  static constexpr std::uint32_t blocks_per_node = cell_blocks + boundary_blocks;
  static constexpr std::uint32_t cell_words = 8;
  static constexpr std::uint32_t cells_per_block = words_per_block / cell_words;
  static constexpr std::uint32_t cells_of_edge = 4;
  // Edges that meet in a boundary block, at each of their ends.
  static constexpr std::uint32_t edges_of_block = edges / boundary_blocks;
  using Cell = std::array<std::uint64_t, cell_words>;

  // One cycle through all nodes, so no edge leads from a node to itself (Sattolo 1986).
  void connect(std::vector<std::uint32_t>* targets, std::vector<std::uint32_t>* sources,
               Random& random) const {
    targets->resize(nodes_);
    sources->resize(nodes_);
    std::iota(targets->begin(), targets->end(), 0);
    for (std::uint32_t i = nodes_ - 1; i > 0; --i) std::swap((*targets)[i], (*targets)[random.below(i)]);
    for (std::uint32_t i = 0; i < nodes_; ++i) (*sources)[(*targets)[i]] = i;
  }

  static std::uint64_t word_of(std::uint64_t rank, std::uint64_t block, std::uint64_t cell) {
    return ((rank * blocks_per_node + block) * cells_per_block + cell) * cell_words;
  }
  // The cells at the two ends of edge `edge` of node `rank`; those at the far end lie in two blocks.
  std::uint64_t near_cell(std::uint32_t rank, std::uint32_t edge, std::uint32_t number) const {
    const std::uint64_t drawn = mix((rank * edges + edge) * cells_of_edge + number);
    return word_of(rank, drawn % cell_blocks, drawn / cell_blocks % cells_per_block);
  }
  std::uint64_t far_cell(std::uint32_t rank, std::uint32_t edge, std::uint32_t number) const {
    const std::uint64_t drawn = mix((rank * edges + edge) * cells_of_edge + number + (1u << 20));
    const std::uint64_t block = mix(rank * edges + edge) + number % 2;
    return word_of(targets_[edge][rank], block % cell_blocks, drawn % cells_per_block);
  }
  // The cell of a sum: writer 0 is the owner of the block, the rest are the edges that lead there.
  static std::uint64_t sum_cell(std::uint32_t owner, std::uint32_t edge, std::uint32_t writer,
                                std::uint32_t number) {
    return word_of(owner, cell_blocks + edge % boundary_blocks,
                   number * (cells_per_block / cells_of_edge) + writer);
  }
  static std::uint32_t writer_of(std::uint32_t edge) { return 1 + edge / boundary_blocks; }

  // The first word that an edge carries; the following ones rise by two.
  std::uint64_t flow(std::uint32_t rank, std::uint32_t edge, std::uint32_t number,
                     std::uint32_t round) const {
    return value_at(near_cell(rank, edge, number), round) + value_at(far_cell(rank, edge, number), round);
  }
  // The first word of the sum that the owner of the block of `edge` has made of the flows of its own edges up
  // to that one, and not of it.
  std::uint64_t own_sum(std::uint32_t rank, std::uint32_t edge, std::uint32_t number,
                        std::uint32_t round) const {
    std::uint64_t sum = value_at(sum_cell(rank, edge, 0, number), round);
    for (std::uint32_t e = edge % boundary_blocks; e < edge; e += boundary_blocks) {
      sum += flow(rank, e, number, round);
    }
    return sum;
  }

  Task<> follow(Cluster& cluster, Node& node, std::uint32_t rank, std::uint32_t edge, std::uint32_t round) {
    for (std::uint32_t number = 0; number < cells_of_edge; ++number) {
      const std::uint64_t near = near_cell(rank, edge, number);
      const std::uint64_t far = far_cell(rank, edge, number);
      Cell flow{};
      co_await add(cluster, node, near, value_at(near, round), 1, &flow);
      co_await add(cluster, node, far, value_at(far, round), 1, &flow);
      const std::uint64_t there = sum_cell(targets_[edge][rank], edge, writer_of(edge), number);
      co_await add_to(cluster, node, there, value_at(there, round), 1, flow);
      const std::uint64_t here = sum_cell(rank, edge, 0, number);
      co_await add_to(cluster, node, here, own_sum(rank, edge, number, round), 1 + edge / boundary_blocks * 2,
                      flow);
    }
  }
  // Adds the cell at `word`, which must hold `first` and so on, to `sum`.
  static Task<> add(Cluster& cluster, Node& node, std::uint64_t word, std::uint64_t first,
                    std::uint64_t increment, Cell* sum) {
    Cell cell;
    co_await node.read(BlockId{word / words_per_block}, word % words_per_block * 8,
                       std::as_writable_bytes(std::span(cell)));
    check_words(cluster, node, word, cell, first, increment);
    for (std::uint32_t i = 0; i < cell_words; ++i) (*sum)[i] += cell[i];
  }
  // Adds `flow` to the cell at `word`, which must hold `first` and so on.
  static Task<> add_to(Cluster& cluster, Node& node, std::uint64_t word, std::uint64_t first,
                       std::uint64_t increment, const Cell& flow) {
    Cell sum = flow;
    co_await add(cluster, node, word, first, increment, &sum);
    co_await node.write(BlockId{word / words_per_block}, word % words_per_block * 8,
                        std::as_bytes(std::span(sum)));
  }

  Task<> expect_sums(Cluster& cluster, Node& node, std::uint32_t rank, std::uint32_t round) {
    for (std::uint32_t edge = 0; edge < edges; ++edge) {
      const std::uint32_t source = sources_[edge][rank];
      for (std::uint32_t number = 0; number < cells_of_edge; ++number) {
        const std::uint64_t from_there = sum_cell(rank, edge, writer_of(edge), number);
        co_await expect_words(cluster, node, from_there, cell_words,
                              value_at(from_there, round) + flow(source, edge, number, round), 3);
        if (edge >= boundary_blocks) continue;
        const std::uint64_t own = sum_cell(rank, edge, 0, number);
        co_await expect_words(cluster, node, own, cell_words, own_sum(rank, edge + edges, number, round),
                              1 + edges_of_block * 2);
      }
    }
  }

  std::array<std::vector<std::uint32_t>, edges> targets_;  // by rank
  std::array<std::vector<std::uint32_t>, edges> sources_;
};

// A thread computes for so long.
struct Computation {
  fabric::sim::SimExecutor& executor;
  std::uint64_t ns;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> task) const noexcept { executor.ready_after(ns, task); }
  void await_resume() const noexcept {}
};

// Tasks take some time: else a node that has the lock at hand would take one after the other in no time at
// all. The results of a round lie in the order of the tasks, those of the next one in the second
// array. In the next round each node reads the results of some tasks of other nodes.
class TaskQueue final : public Workload {
 public:
  explicit TaskQueue(std::uint32_t nodes)
      : Workload(nodes),
        tasks_(std::uint64_t{nodes} * tasks_per_node),
        array_words_(blocks_of_array(nodes, tasks_per_node * result_words * 8) * words_per_block) {}
  vm::Space space() const override {
    vm::Space space(nodes_);
    add_arrays(space, 2, tasks_per_node * result_words * 8);
    space.add(segment(0x10000, 1, vm::InitialHome::one_rank));
    return space;
  }

  Task<> iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) override {
    Node& node = cluster.node(rank);
    for (std::uint64_t i = 0; iteration != 0 && i < tasks_per_node; ++i) {
      const std::uint64_t task = (iteration - 1) * tasks_ + rank * tasks_per_node + i;
      co_await expect_words(cluster, node, result(task), result_words, mix(task));
    }
    const std::uint64_t end = (iteration + std::uint64_t{1}) * tasks_;
    for (;;) {
      const std::uint64_t task = co_await take(cluster, node, end);
      if (task == end) break;
      co_await Computation{node.executor(), task_ns};
      co_await write_words(node, result(task), result_words, mix(task));
    }
    co_await meet(node);
  }

 private:
  static constexpr std::uint64_t tasks_per_node = 4;
  static constexpr std::uint64_t task_ns = 10'000;
  static constexpr std::uint64_t result_words = 8;

  std::uint64_t counter() const { return 2 * array_words_; }
  std::uint64_t result(std::uint64_t task) const {
    return task / tasks_ % 2 * array_words_ + task % tasks_ * result_words;
  }
  // Result: the task; or `end`, no task is left.
  Task<std::uint64_t> take(Cluster& cluster, Node& node, std::uint64_t end) {
    const LockId lock{0};
    const std::uint64_t notices = node.counters().get(trace::Counter::notices_received);
    co_await node.locks().lock(lock);
    co_await read_notices(node, notices);
    const std::uint64_t task = taken_;
    co_await expect_words(cluster, node, counter(), 1, task);
    if (task != end) {
      taken_ = task + 1;
      co_await write_words(node, counter(), 1, taken_);
    }
    co_await node.locks().unlock(lock);
    co_return task;
  }

  const std::uint64_t tasks_;  // of a round
  const std::uint64_t array_words_;
  std::uint64_t taken_ = 0;  // the expected counter
};

// Vectors are written in turn, each from the previous one, as in an iterative solver. The piece of a node is
// smaller than a block, and goes on where that of the node before ends.
class SmallRegions final : public Workload {
 public:
  explicit SmallRegions(std::uint32_t nodes)
      : Workload(nodes), vector_words_(blocks_of_array(nodes, piece_words * 8) * words_per_block) {}
  vm::Space space() const override {
    vm::Space space(nodes_);
    add_arrays(space, vectors, piece_words * 8);
    return space;
  }

  Task<> iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) override {
    Node& node = cluster.node(rank);
    for (std::uint32_t region = 0; region < regions; ++region) {
      const std::uint32_t round = iteration * regions + region;
      if (round != 0) co_await expect_last(cluster, node, rank, round - 1);
      const std::uint64_t piece = word_of(rank, round);
      co_await write_words(node, piece, piece_words, value_at(piece, round));
      co_await meet(node);
    }
  }

 private:
  static constexpr std::uint32_t regions = 8;
  static constexpr std::uint32_t vectors = 4;
  static constexpr std::uint64_t piece_words = words_per_block * 3 / 8;
  static constexpr std::uint64_t edge_words = 8;

  std::uint64_t word_of(std::uint32_t rank, std::uint32_t round) const {
    return round % vectors * vector_words_ + rank * piece_words;
  }
  // The own piece, the end of the previous piece and the beginning of the next one.
  Task<> expect_last(Cluster& cluster, Node& node, std::uint32_t rank, std::uint32_t round) {
    const std::uint64_t piece = word_of(rank, round);
    co_await expect_words(cluster, node, piece, piece_words, value_at(piece, round));
    const std::uint64_t before = word_of((rank + nodes_ - 1) % nodes_, round) + piece_words - edge_words;
    co_await expect_words(cluster, node, before, edge_words, value_at(before, round));
    const std::uint64_t behind = word_of((rank + 1) % nodes_, round);
    co_await expect_words(cluster, node, behind, edge_words, value_at(behind, round));
  }

  const std::uint64_t vector_words_;
};

}  // namespace

std::unique_ptr<Workload> make_gather_scatter(std::uint32_t nodes) {
  return std::make_unique<GatherScatter>(nodes);
}
std::unique_ptr<Workload> make_task_queue(std::uint32_t nodes) {
  return std::make_unique<TaskQueue>(nodes);
}
std::unique_ptr<Workload> make_small_regions(std::uint32_t nodes) {
  return std::make_unique<SmallRegions>(nodes);
}

}  // namespace musubi::sim
