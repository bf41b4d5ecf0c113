#include "simulator/program.h"

#include <algorithm>
#include <cstring>

namespace musubi::sim {
namespace {

std::byte private_byte(std::uint32_t rank, std::size_t offset) {
  return static_cast<std::byte>(rank * 37 + offset * 11 + 1);
}

}  // namespace

Program::Program(Cluster& cluster)
    : cluster_(cluster),
      configuration_(cluster.configuration()),
      cell_bytes_(configuration_.cell_bytes),
      shadow_(cluster.space().bytes_max(), configuration_.actors()) {
  for (std::uint32_t i = 0; i < configuration_.actors(); ++i) {
    actors_.push_back(Actor{i, &cluster.node(i % cluster.size()), Random(configuration_.seed * 1000003 + i)});
  }
  for (std::uint32_t i = 0; i < configuration_.nodes * configuration_.outsiders; ++i) {
    outsiders_.emplace_back().baton = shadow_.baton();
  }
  for (std::uint32_t i = 0; i < configuration_.locks; ++i) locks_.push_back({shadow_.baton(), no_thread});
  barriers_.assign(2, shadow_.baton());
  Random random(configuration_.seed + 0xadda);
  prepare_blocks(BlockId{0}, random);
  early_blocks_ = live_.size();
}

// Those from `first` on.
void Program::prepare_blocks(BlockId first, Random& random) {
  for (std::uint64_t i = first.value; i < cluster_.space().blocks(); ++i) {
    channels_.push_back(
        {i, shadow_.baton(), static_cast<std::uint32_t>(random.below(actors_.size())), false, by_clock});
    prepare_block(BlockId{i}, random);
    live_.push_back(BlockId{i});
  }
}

// After each barrier, by the first thread that leaves it: all other threads but outsiders are still in it.
void Program::change_segments(std::uint32_t episode) {
  if (configuration_.late_segments == 0 || episode < episodes_changed_) return;
  episodes_changed_ = episode + 1;
  if (episode % 2 != 0) {
    live_.resize(early_blocks_);
    return cluster_.remove_late_segments();
  }
  if (episode + 1 >= configuration_.phases) return;
  Random random(configuration_.seed + 0x1a7e + episode);
  prepare_blocks(cluster_.add_late_segments(), random);
}

void Program::prepare_block(BlockId block, Random& random) {
  const vm::Extent extent = cluster_.space().extent(block);
  std::vector<std::uint32_t> cells;
  const auto add_cells = [&](std::size_t begin, std::size_t end) {
    begin = (begin + cell_bytes_ - 1) / cell_bytes_ * cell_bytes_;
    for (; begin + cell_bytes_ <= end; begin += cell_bytes_) {
      cells.push_back(static_cast<std::uint32_t>(begin - extent.offset));
    }
  };
  cluster_.private_parts().for_each_shared_part(extent.offset, extent.offset + extent.bytes, add_cells);
  cell_count_ += cells.size();
  cells_.push_back(std::move(cells));

  Node& home = cluster_.node(cluster_.space().initial_home(block).value);
  std::byte* bytes = home.private_bytes(block);
  const bool is_late = early_blocks_ != 0;  // stacks do not come and go
  const bool pinned = random.chance(configuration_.pinned_percent) && !is_late;
  if (pinned) {
    home.protocol().pin(block, 1);
    home.protocol().note_stack(pinned_++, extent.address, extent.address + extent.bytes);
  }
  if (!pinned && random.chance(configuration_.adopted_percent)) {
    for (std::size_t i = 0; i < extent.bytes; ++i) bytes[i] = static_cast<std::byte>(random.next());
    shadow_.set_initial(extent.offset, {bytes, extent.bytes});
    home.protocol().adopt(block, 1);
  }
  for (std::uint32_t rank = 0; rank < cluster_.size(); ++rank) {
    std::byte* own = cluster_.node(rank).private_bytes(block);
    std::size_t begin = extent.offset;
    const auto fill = [&](std::size_t until) {
      for (; begin < until; ++begin) own[begin - extent.offset] = private_byte(rank, begin);
    };
    cluster_.private_parts().for_each_shared_part(extent.offset, extent.offset + extent.bytes,
                                                  [&](std::size_t shared_begin, std::size_t shared_end) {
                                                    fill(shared_begin);
                                                    begin = shared_end;
                                                  });
    fill(extent.offset + extent.bytes);
  }
}

std::uint64_t Program::choice(std::uint64_t a, std::uint64_t b, std::uint64_t c) const {
  return Random(configuration_.seed ^ a << 48 ^ b << 24 ^ c).next();
}

bool Program::is_open(BlockId block) const {
  if (configuration_.outsiders == 0 || block.value >= early_blocks_) return false;
  return block.value == 0 || choice(7, 0, block.value) % 2 == 0;
}

Style Program::style(std::uint32_t phase, BlockId block) const {
  if (is_open(block)) {
    constexpr Style styles[]{Style::locked, Style::atomic, Style::handover};
    return styles[choice(8, 0, block.value) % std::size(styles)];
  }
  std::uint64_t drawn = choice(1, phase, block.value);
  for (unsigned tries = 0; tries < 64; ++tries, drawn = drawn * 0x9e3779b97f4a7c15u + 1) {
    const auto candidate = static_cast<std::uint32_t>((drawn >> 32) % static_cast<unsigned>(Style::count));
    if (configuration_.styles >> candidate & 1) return static_cast<Style>(candidate);
  }
  return Style::read_only;
}

bool Program::is_atomic(std::uint32_t phase, const Cell& cell) const {
  if (configuration_.counters_percent == 0) return false;
  return choice(9, is_open(cell.block) ? 0 : phase, cell.offset) % 100 < configuration_.counters_percent;
}

std::uint32_t Program::owner(std::uint32_t phase, const Cell& cell) const {
  if (is_atomic(phase, cell)) return no_thread;
  const std::uint64_t count = actors_.size();
  switch (style(phase, cell.block)) {
    case Style::scattered:
      return static_cast<std::uint32_t>(choice(2, phase, cell.offset) % count);
    case Style::single_writer:
      return static_cast<std::uint32_t>(choice(3, phase, cell.block.value) % count);
    case Style::neighbours: {
      const std::uint64_t shift = choice(4, phase, cell.block.value) % count;
      const std::uint64_t bytes = cluster_.space().extent(cell.block).bytes;
      return static_cast<std::uint32_t>((cell.begin * count / bytes + shift) % count);
    }
    default:
      return no_thread;
  }
}

std::uint32_t Program::lock_of(std::uint32_t phase, const Cell& cell) const {
  return static_cast<std::uint32_t>(choice(5, is_open(cell.block) ? 0 : phase, cell.offset) % locks_.size());
}

Program::Cell Program::random_cell(Random& random, BlockId block) const {
  const auto& cells = cells_[block.value];
  const std::size_t begin = cells[random.below(cells.size())];
  return Cell{block, begin, cluster_.space().extent(block).offset + begin};
}

BlockId Program::random_block(Actor& actor, std::uint32_t phase) const {
  if (is_outsider(actor)) {
    const BlockId drawn = live_[actor.random.below(early_blocks_)];
    return is_open(drawn) ? drawn : BlockId{0};
  }
  if (actor.random.chance(50)) return live_[choice(6, phase, actor.number % 3) % live_.size()];
  return live_[actor.random.below(live_.size())];
}

void Program::start() {
  for (Actor& actor : actors_) tasks_.push_back(is_outsider(actor) ? run_outsider(actor) : run(actor));
  for (Actor& actor : actors_) tasks_[actor.number].start(actor.node->add_thread(), this);
}

void Program::check_copies() {
  for (std::uint32_t rank = 0; rank < cluster_.size(); ++rank) {
    for (const BlockId block : live_) {
      if (!cluster_.violated()) check_copy(cluster_.node(rank), block);
    }
  }
}

void Program::check_copy(Node& node, BlockId block) {
  const vm::Extent extent = cluster_.space().extent(block);
  const std::byte* own = node.private_bytes(block);
  const unsigned rank = node.self().value;
  if (node.vm().allows(block, vm::Access::read)) {
    for (const std::uint32_t begin : cells_[block.value]) {
      if (shadow_.equals(extent.offset + begin, {own + begin, cell_bytes_})) continue;
      return cluster_.violate("at rest the copy of block %lu at node %u differs from the last writes at +%u",
                              static_cast<unsigned long>(block.value), rank, begin);
    }
  }
  std::size_t begin = extent.offset;
  const auto check_until = [&](std::size_t end) {
    for (; begin < end; ++begin) {
      if (own[begin - extent.offset] == private_byte(rank, begin)) continue;
      return cluster_.violate("node %u lost a private byte of block %lu at +%zu", rank,
                              static_cast<unsigned long>(block.value), begin - extent.offset);
    }
  };
  cluster_.private_parts().for_each_shared_part(extent.offset, extent.offset + extent.bytes,
                                                [&](std::size_t shared_begin, std::size_t shared_end) {
                                                  check_until(shared_begin);
                                                  begin = shared_end;
                                                });
  check_until(extent.offset + extent.bytes);
}

}  // namespace musubi::sim
