#pragma once

#include <string>

namespace musubi::compiler {

// The variable of the environment by which the wrapper tells the plugin its options, `name=value` separated
// by semicolons: clang hands options of a plugin on to no linker.
inline constexpr const char* kOptionsVariable = "MUSUBI_PLUGIN_OPTIONS";

struct Options {
  std::string report;   // file to which one line of JSON is appended per module, or empty
  std::string unknown;  // the first option with a name or a value that this plugin does not know
};

// `text` may be null. Any thread.
Options read_options(const char* text);

}  // namespace musubi::compiler
