#include "bootstrap/local/gather.h"

#include <cstring>

namespace musubi::bootstrap::local {

GatherRound::GatherRound(std::uint32_t ranks)
    : blobs_(ranks, BlobAssembler(blob_bytes_max)), given_(ranks, false), missing_(ranks) {}

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
  for (BlobAssembler& assembler : blobs_) {
    const std::string blob = assembler.take();
    const std::uint64_t bytes = blob.size();
    text->append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    text->append(blob);
  }
  given_.assign(given_.size(), false);
  missing_ = static_cast<std::uint32_t>(given_.size());
  return text;
}

std::vector<std::string> split_gathered(std::string_view text, std::uint32_t ranks) {
  std::vector<std::string> blobs;
  while (!text.empty()) {
    std::uint64_t bytes = 0;
    if (text.size() < sizeof bytes) return {};
    std::memcpy(&bytes, text.data(), sizeof bytes);
    text.remove_prefix(sizeof bytes);
    if (bytes > text.size()) return {};
    blobs.emplace_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  if (blobs.size() != ranks) return {};
  return blobs;
}

}  // namespace musubi::bootstrap::local
