// The launcher's side of an all-gather: collects one blob of each rank of a host. No I/O.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "bootstrap/local/frame.h"
#include "launch/launch_plan.h"

namespace musubi::launch {

class GatherRound {
 public:
  explicit GatherRound(RankRange ranks);

  // False if the frame violates the protocol (a second blob in one round, a piece that does not fit).
  [[nodiscard]] bool add(Rank rank, const bootstrap::local::Frame& frame);
  // After all ranks have passed their blobs: returns them as one text (gathered.h) and starts the next round.
  // Otherwise null.
  std::shared_ptr<const std::string> take_result();

 private:
  const RankRange ranks_;
  std::vector<bootstrap::local::BlobAssembler> blobs_;
  std::vector<bool> given_;
  std::uint32_t missing_;
};

}  // namespace musubi::launch
