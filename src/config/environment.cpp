#include "config/environment.h"

#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <string_view>

namespace musubi::config {
namespace {

constexpr std::string_view prefix = "MUSUBI_";

std::string lower(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::optional<std::string> program_variable(const char* name) {
  auto value = environment_variable(name);
  return value ? value : environment_variable((std::string(handed_prefix) + name).c_str());
}

std::vector<std::string> environment_variables() {
  std::vector<std::string> result;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    result.emplace_back(*variable);
  }
  return result;
}

Result<void> read_environment(Configuration& configuration) {
  for (const std::string& variable : environment_variables()) {
    if (!variable.starts_with(prefix)) continue;
    const std::size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals);
    const bool is_setting =
        name != job_variable && name != compiler_variable && !name.starts_with(handed_prefix);
    if (equals == std::string::npos || !is_setting) continue;
    const auto set = configuration.set(lower(std::string_view(name).substr(prefix.size())),
                                       std::string_view(variable).substr(equals + 1), Source::environment);
    if (!set) return Error{"environment variable " + name + ": " + set.error().message};
  }
  return {};
}

}  // namespace musubi::config
