#include "config/reference_page.h"

#include <algorithm>

#include "config/value.h"

namespace musubi::config {
namespace {

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

}  // namespace

std::string list_settings(const Configuration& configuration) {
  const auto all = declarations();
  std::size_t name_width = 0, value_width = 0;
  for (const Declaration& entry : all) {
    name_width = std::max(name_width, entry.name.size());
    value_width =
        std::max(value_width, format_value(entry, value_of(configuration.settings(), entry)).size());
  }
  std::string result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string value = format_value(all[i], value_of(configuration.settings(), all[i]));
    result += padded(std::string(all[i].name), name_width + 2) + padded(value, value_width + 2);
    result += std::string(to_string(configuration.source(i))) + "\n";
  }
  return result;
}

std::string reference_page() {
  std::string page =
      "# Settings\n"
      "\n"
      "This page is made from `src/config/settings.def` by `musubi settings --markdown`; do not edit it by "
      "hand.\n"
      "\n"
      "A setting is given by `musubi run --set name=value`, by an option of `musubi run` where there is one, "
      "or by\n"
      "the environment variable `MUSUBI_<NAME>` (capitals: `MUSUBI_HEAP_BYTES=64GiB`). The command line "
      "beats the\n"
      "environment, the environment beats the default. Unknown names and values that are not exactly of the "
      "form\n"
      "below are refused. `musubi run --print-config` shows the values in force and their sources.\n"
      "\n"
      "- Sizes: a whole number with an optional unit `B`, `KiB`, `MiB`, `GiB`, `TiB`.\n"
      "- Durations: a whole number with a unit `ns`, `us`, `ms`, `s`, `min`; or `0`.\n"
      "- Scope `collective`: equal in every rank of a job, checked at start. Scope `per rank`: may differ.\n"
      "- `Tuning:` marks an experimental setting, which may change; all other settings are stable.\n"
      "\n"
      "| Setting | Default | Range | Scope | Meaning |\n"
      "|---|---|---|---|---|\n";
  const Settings defaults;
  for (const Declaration& entry : declarations()) {
    const std::string value = format_value(entry, value_of(defaults, entry));
    page += "| `" + std::string(entry.name) + "` | " + (value.empty() ? "none" : "`" + value + "`") + " | ";
    page +=
        format_range(entry) + " | " + (entry.scope == Scope::collective ? "collective" : "per rank") + " | ";
    page += std::string(entry.documentation) + " |\n";
  }
  return page;
}

}  // namespace musubi::config
