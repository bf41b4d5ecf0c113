// The settings in force, each with its source. The command line overrides the environment, which overrides
// the defaults.
#pragma once

#include <span>
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

  // Sets one setting; does nothing if a stronger source has set it already. Errors: a bad value, or an
  // unknown name, with the nearest known name as a suggestion.
  Result<void> set(std::string_view name, std::string_view text, Source source);
  // The same for `name=value`.
  Result<void> set_assignment(std::string_view assignment, Source source);

  // Sets a setting that no source has set yet, with the environment as its source: for values derived from
  // other variables than the setting's own.
  Result<void> set_unless_given(std::string_view name, std::string_view text);

  // `MUSUBI_<NAME>=value` for every setting that differs from its default: another process, started with
  // these variables, reads the same settings.
  std::vector<std::string> environment() const;

 private:
  Settings settings_;
  std::vector<Source> sources_;
};

// The environment variable of a setting: MUSUBI_HEAP_BYTES of heap_bytes.
std::string variable_name(std::string_view setting_name);

// "Did you mean ...?" for misspelt names.

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, or empty if none is near enough to be a likely typing error. Both at most
// a few hundred characters; a longer name has no suggestion.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace musubi::config
