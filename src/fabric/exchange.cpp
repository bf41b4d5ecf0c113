#include "fabric/exchange.h"

namespace musubi::fabric {

Result<void> expect_from_all(const std::vector<std::string>& blobs, std::size_t ranks, std::string_view what,
                             std::string_view launcher) {
  if (blobs.size() == ranks) return {};
  return Error{"the exchange of " + std::string(what) + " gave " + std::to_string(blobs.size()) +
               " answers for " + std::to_string(ranks) + " ranks; start all ranks by one " +
               std::string(launcher)};
}

Error other_build(std::uint32_t rank) {
  return {"rank " + std::to_string(rank) +
          " is of another build of Musubi; start all ranks from the same installation"};
}

Result<void> agree(const Result<void>& own, const Exchange& exchange) {
  MUSUBI_ASSIGN_OR_RETURN(auto outcomes,
                          exchange(own.ok() ? std::string_view{} : std::string_view{own.error().message}));
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    const std::string& message = outcomes[rank];
    if (!message.empty()) return Error{"rank " + std::to_string(rank) + ": " + message};
  }
  return {};
}

}  // namespace musubi::fabric
