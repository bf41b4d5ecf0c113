// The world of a story: real protocol, real synchronisation, a calm simulated fabric; each event runs to its
// end before the next begins.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "simulator/node.h"
#include "stage.h"

namespace musubi::stories {

class ToldWorld {
 public:
  explicit ToldWorld(const std::map<std::string, std::uint64_t>& options);

  // Result: the changes, a line for each block of a rank, then the actions of each rank. Throws
  // std::runtime_error for an unknown event.
  std::vector<std::string> play(const std::string& event);

 private:
  std::string sight_of(std::uint32_t rank, BlockId block);
  std::string migrating_sight(sim::Node& node, BlockId block);
  std::string fixed_sight(sim::Node& node, BlockId block);
  std::vector<std::string> sights();
  std::vector<std::uint64_t> counts();
  void perform(std::uint32_t rank, const std::vector<std::string>& words);

  std::uint64_t blocks_;
  sim::Stage stage_;
};

}  // namespace musubi::stories
