#include "fabric/exchange.h"

namespace musubi::fabric {

Result<void> agree(const Result<void>& own, const Exchange& exchange) {
  auto outcomes = exchange(own.ok() ? std::string_view{} : std::string_view{own.error().message});
  if (!outcomes) return outcomes.error();
  for (std::size_t rank = 0; rank < outcomes.value().size(); ++rank) {
    const std::string& message = outcomes.value()[rank];
    if (!message.empty()) return Error{"rank " + std::to_string(rank) + ": " + message};
  }
  return {};
}

}  // namespace musubi::fabric
