#include "launch/gather_round.h"

#include "bootstrap/bootstrap.h"
#include "bootstrap/local/gathered.h"

namespace musubi::launch {

using namespace bootstrap::local;

GatherRound::GatherRound(RankRange ranks)
    : ranks_(ranks),
      blobs_(ranks.count, BlobAssembler(bootstrap::blob_bytes_max)),
      given_(ranks.count, false),
      missing_(ranks.count) {}

bool GatherRound::add(Rank rank, const Frame& frame) {
  const std::uint32_t index = ranks_.index(rank);
  if (given_[index] || !blobs_[index].add(frame)) return false;
  if (blobs_[index].complete()) {
    given_[index] = true;
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
