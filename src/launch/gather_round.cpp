#include "launch/gather_round.h"

#include "bootstrap/bootstrap.h"
#include "bootstrap/local/gathered.h"

namespace musubi::launch {

using namespace bootstrap::local;

GatherRound::GatherRound(std::uint32_t ranks)
    : blobs_(ranks, BlobAssembler(bootstrap::blob_bytes_max)), given_(ranks, false), missing_(ranks) {}

bool GatherRound::add(Rank rank, const Frame& frame) {
  if (given_[rank.value] || !blobs_[rank.value].add(frame)) return false;
  if (blobs_[rank.value].complete()) {
    given_[rank.value] = true;
    --missing_;
  }
  return true;
}

std::shared_ptr<const std::string> GatherRound::take_result() {
  if (missing_ > 0) return nullptr;
  auto text = std::make_shared<std::string>();
  for (BlobAssembler& assembler : blobs_) append_gathered(*text, assembler.take());
  given_.assign(given_.size(), false);
  missing_ = static_cast<std::uint32_t>(given_.size());
  return text;
}

}  // namespace musubi::launch
