// Programs with the same work at every node, for any number of nodes: they show how cost grows with that
// number. They move real bytes and check the values that they read, so a protocol that is fast because it is
// wrong fails.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "simulator/cluster.h"

namespace musubi::sim {

enum class WorkloadKind : std::uint8_t {
  stencil,         // strips of two grids: own rows are written, the neighbours' edge rows are read
  gather,          // in the manner of CG: pieces of a short vector from eight nodes, and a dot product
  all_to_all,      // in the manner of FT: transpositions in rows and columns of a square of nodes
  read_mostly,     // a table that one node changes and all read, and a constant one
  migratory,       // records that go from node to node, each under its lock; no barriers
  gather_scatter,  // an unstructured mesh: several nodes add to words of the same boundary blocks
  task_queue,      // one counter under one lock hands out all tasks; results lie close together
  small_regions,   // many barriers; pieces of vectors are smaller than a block
  count
};
constexpr std::string_view name_of(WorkloadKind kind) {
  constexpr std::string_view names[]{"stencil",     "gather",        "all_to_all",
                                     "read_mostly", "migratory",     "gather_scatter",
                                     "task_queue",  "small_regions", "unknown"};
  return names[static_cast<std::size_t>(kind)];
}

class Workload {
 public:
  static constexpr std::size_t block_bytes = 4096;
  static constexpr std::uint64_t words_per_block = block_bytes / 8;
  // A reader's cost of applying one write notice, measured (docs/design/scaling.md).
  static constexpr std::uint64_t notice_ns = 30;

  static std::unique_ptr<Workload> make(WorkloadKind kind, std::uint32_t nodes);
  virtual ~Workload() = default;

  // The shared space and the number of locks that the cluster must have. Before prepare().
  virtual vm::Space space() const = 0;
  virtual std::uint32_t locks() const { return 1; }
  // Iterations until cost no longer changes from one to the next.
  virtual std::uint32_t warm_up() const { return 4; }
  virtual void prepare(Cluster&) {}
  // Faults so far that stop the node's program, where the workload tells them from checks.
  virtual std::uint64_t stops(std::uint32_t /*rank*/) const { return 0; }
  // One iteration of a node, counted from 0. Wrong values are violations of `cluster`.
  virtual Task<> iterate(Cluster& cluster, std::uint32_t rank, std::uint32_t iteration) = 0;

 protected:
  explicit Workload(std::uint32_t nodes) : nodes_(nodes), words_(words_per_block) {}

  // The whole block holds `value` in every word.
  Task<> write_block(Node& node, std::uint64_t block, std::uint64_t value);
  static Task<> expect_block(Cluster& cluster, Node& node, std::uint64_t block, std::uint64_t value);
  // `count` words from number `word` of the whole space on, through as many blocks as that takes. The first
  // one holds `first`, each other one `increment` more than the one before.
  static Task<> write_words(Node& node, std::uint64_t word, std::uint64_t count, std::uint64_t first);
  static Task<> expect_words(Cluster& cluster, Node& node, std::uint64_t word, std::uint64_t count,
                             std::uint64_t first, std::uint64_t increment = 1);
  static void check_words(Cluster& cluster, Node& node, std::uint64_t word,
                          std::span<const std::uint64_t> words, std::uint64_t first, std::uint64_t increment);
  // A barrier. Result: rank 0's `result`.
  static Task<std::uint64_t> meet(Node& node, std::uint64_t result = 0);
  // Lets the time pass that reading the notices received since `notices_before` takes.
  static Task<> read_notices(Node& node, std::uint64_t notices_before);

  const std::uint32_t nodes_;

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace musubi::sim
