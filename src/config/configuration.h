// The settings in force together with where each came from. Command line beats environment beats default.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/settings.h"

namespace musubi::config {

// In rising order of precedence.
enum class Source { standard, environment, command_line };
std::string_view to_string(Source source);  // "default", "environment", "command line"

class Configuration {
 public:
  Configuration();

  const Settings& settings() const { return settings_; }
  // REQUIRES: index < declarations().size().
  Source source(std::size_t index) const { return sources_[index]; }

  // Sets one setting. A source never overrides a stronger one (then nothing happens). Unknown names and bad
  // values are errors; an unknown name gets the nearest known one as a suggestion.
  Result<void> set(std::string_view name, std::string_view text, Source source);
  // The same for `name=value`.
  Result<void> set_assignment(std::string_view assignment, Source source);

  // Sets what nothing has set yet: the environment says so by other means than the setting's own variable.
  Result<void> set_unless_given(std::string_view name, std::string_view text);

  // `MUSUBI_<NAME>=value` of every setting that does not have its default: what makes another process,
  // started with these variables, read the same settings.
  std::vector<std::string> environment() const;

 private:
  Settings settings_;
  std::vector<Source> sources_;
};

// The environment variable of a setting: MUSUBI_HEAP_BYTES of heap_bytes.
std::string variable_name(std::string_view setting_name);

}  // namespace musubi::config
