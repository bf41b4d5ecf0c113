#include "launch/mpi/values_by_mpi.h"

#include <algorithm>

#include "fabric/mpi/adapter.h"

namespace musubi::launch {

Result<void> ValuesByMpi::put(std::string_view key, std::string_view value) {
  own_ += std::string(key) + "=" + std::string(value) + "\n";
  return {};
}

// The texts of all ranks are padded with zeros to the length of the longest.
Result<void> ValuesByMpi::fence() {
  auto bytes = static_cast<int>(own_.size());
  std::vector<int> lengths(ranks_);
  if (const int error = calls_.gather(&bytes, lengths.data(), sizeof bytes); error != 0) return failed(error);
  const int longest = *std::max_element(lengths.begin(), lengths.end());
  own_.resize(static_cast<std::size_t>(longest));
  std::string all(std::size_t{ranks_} * own_.size(), '\0');
  if (const int error = calls_.gather(own_.data(), all.data(), longest); error != 0) return failed(error);
  got_.resize(ranks_);
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    std::string_view text =
        std::string_view(all).substr(rank * own_.size(), static_cast<std::size_t>(lengths[rank]));
    for (std::size_t end = 0; (end = text.find('\n')) != std::string_view::npos;
         text.remove_prefix(end + 1)) {
      const std::string_view line = text.substr(0, end);
      const std::size_t equals = line.find('=');
      got_[rank][std::string(line.substr(0, equals))] = line.substr(equals + 1);
    }
  }
  own_.clear();
  return {};
}

Result<std::string> ValuesByMpi::get(std::uint32_t rank, std::string_view key) {
  const auto found = got_[rank].find(std::string(key));
  if (found != got_[rank].end()) return found->second;
  return Error{"rank " + std::to_string(rank) +
               " has sent nothing by MPI; install the same Musubi on all hosts"};
}

Error ValuesByMpi::failed(int error) const {
  return Error{"MPI does not bring the ranks together: " + fabric::mpi::text_of_error(calls_, error) +
               "; leave out far_fabric=mpi, or ask who looks after this MPI"};
}

}  // namespace musubi::launch
