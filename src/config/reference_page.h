// The settings as text for people.
#pragma once

#include <string>

#include "config/configuration.h"

namespace musubi::config {

// One line per setting: name, value, source.
std::string list_settings(const Configuration& configuration);

// The page docs/reference/settings.md. A test compares the committed page with this; after a change of
// settings.def run `musubi settings --markdown > docs/reference/settings.md`.
std::string reference_page();

}  // namespace musubi::config
