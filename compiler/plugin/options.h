#pragma once

#include <cstdint>
#include <string>

#include "src/checks/abi.h"

namespace musubi::compiler {

// The variable of the environment by which the wrapper tells the plugin its options, `name=value` separated
// by semicolons: clang hands options of a plugin on to no linker.
inline constexpr const char* kOptionsVariable = "MUSUBI_PLUGIN_OPTIONS";

// The modes of src/checks/abi.h.
enum class Mode : unsigned {
  hint = MUSUBI_CHECKS_HINT,
  adsm = MUSUBI_CHECKS_ADSM,
  udsm = MUSUBI_CHECKS_UDSM
};

// Whether each write (each read) of memory that may be shared is checked in the mode. Elsewhere ranges are
// hints.
constexpr bool is_checked(Mode mode, bool writes) {
  return mode == Mode::udsm || (mode == Mode::adsm && writes);
}

// Counters of a program's checks (counts.h), for those who develop this plugin.
enum class Count { nothing, checks, accesses };

struct Options {
  Mode mode = Mode::hint;
  unsigned granule_shift = MUSUBI_CHECKS_GRANULE_SHIFT_MAX;
  bool home_only = false;    // in udsm, stores ask for no more than permission to store, where it is enough
  bool marks_orders = true;  // atomic operations order as the source says, not as the processor does
  Count count = Count::nothing;
  std::string report;   // file to which one line of JSON is appended per module, or empty
  std::string unknown;  // the first option with a name or a value that this plugin does not know
};

// `text` may be null. Any thread.
Options read_options(const char* text);

// Of the granule of this process's options, which are one for all of its modules.
unsigned granule_shift();
inline int64_t granule_bytes() {
  return int64_t{1} << granule_shift();
}

// The counters that this process's options ask for.
Count counted();

}  // namespace musubi::compiler
