#include "runtime/start/compare_settings.h"

#include <sstream>

#include "config/configuration.h"
#include "config/value.h"

namespace musubi::runtime {

std::string collective_settings(const config::Settings& settings) {
  std::string text;
  for (const config::Declaration& declaration : config::declarations()) {
    if (declaration.scope != config::Scope::collective) continue;
    text += std::string(declaration.name) + "=" +
            config::format_value(declaration, config::value_of(settings, declaration)) + "\n";
  }
  return text;
}

std::string settings_difference(const std::vector<std::string>& by_rank) {
  for (std::size_t rank = 1; rank < by_rank.size(); ++rank) {
    if (by_rank[rank] == by_rank[0]) continue;
    std::istringstream first(by_rank[0]), other(by_rank[rank]);
    std::string expected, found;
    while (std::getline(first, expected) && std::getline(other, found)) {
      if (expected == found) continue;
      const std::string name = expected.substr(0, expected.find('='));
      if (found.substr(0, found.find('=')) != name) break;
      return "rank " + std::to_string(rank) + " has " + found + ", rank 0 has " + expected +
             ", and all ranks must have the same: set " + config::variable_name(name) +
             " for `musubi run`, not for a rank alone";
    }
    return "rank " + std::to_string(rank) +
           " knows other settings than rank 0: install one version of Musubi for all";
  }
  return {};
}

}  // namespace musubi::runtime
