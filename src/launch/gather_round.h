// The launcher's side of the all-gather: collects one blob of each rank of a host. No I/O.
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

  // False when the frame breaks the protocol (a second blob in one round, a piece that does not fit).
  [[nodiscard]] bool add(Rank rank, const bootstrap::local::Frame& frame);
  // Once all ranks have given their blob: these, as a text (gathered.h); starts the next round. Else null.
  std::shared_ptr<const std::string> take_result();

 private:
  const RankRange ranks_;
  std::vector<bootstrap::local::BlobAssembler> blobs_;
  std::vector<bool> given_;
  std::uint32_t missing_;
};

}  // namespace musubi::launch
