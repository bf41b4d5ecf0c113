#include "placement.h"

#include <cstddef>

namespace musubi::tools {
namespace {

// The first `count` unused cores of one node; empty: no node has enough.
std::vector<std::size_t> cores_of_one_node(std::span<const Core> cores, const std::vector<bool>& used,
                                           std::size_t count) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < cores.size(); ++i) {
    if (used[i]) continue;
    if (!found.empty() && cores[found.front()].node != cores[i].node) found.clear();
    found.push_back(i);
    if (found.size() == count) return found;
  }
  return {};
}

std::vector<std::size_t> cores_of_any_node(const std::vector<bool>& used, std::size_t count) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < used.size() && found.size() < count; ++i) {
    if (!used[i]) found.push_back(i);
  }
  return found;
}

std::vector<Processors> place_on_cores(std::span<const Core> cores, std::uint32_t ranks,
                                       std::uint32_t threads) {
  std::vector<Processors> placed(ranks);
  std::vector<bool> used(cores.size(), false);
  for (Processors& processors : placed) {
    std::vector<std::size_t> mine = cores_of_one_node(cores, used, threads);
    if (mine.empty()) mine = cores_of_any_node(used, threads);
    for (const std::size_t core : mine) {
      used[core] = true;
      processors.insert(processors.end(), cores[core].processors.begin(), cores[core].processors.end());
    }
  }
  return placed;
}

// Neighbours in this order share a core: one rank gets both, rather than two ranks one each.
std::vector<Processors> place_on_hardware_threads(const Processors& all, std::uint32_t ranks,
                                                  std::uint32_t threads) {
  std::vector<Processors> placed;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(rank) * threads;
    placed.emplace_back(first, first + threads);
  }
  return placed;
}

}  // namespace

std::vector<Processors> place_ranks(std::span<const Core> cores, std::uint32_t ranks,
                                    std::uint32_t threads_per_rank, Binding binding) {
  const std::uint64_t threads = std::uint64_t{ranks} * threads_per_rank;
  if (binding == Binding::none) return {};
  if (binding == Binding::automatic && 2 * threads <= cores.size()) return {};
  if (threads <= cores.size()) return place_on_cores(cores, ranks, threads_per_rank);
  Processors all;
  for (const Core& core : cores) all.insert(all.end(), core.processors.begin(), core.processors.end());
  if (threads > all.size()) return {};
  return place_on_hardware_threads(all, ranks, threads_per_rank);
}

}  // namespace musubi::tools
