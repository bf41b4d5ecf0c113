#pragma once

#include <string>
#include <vector>

namespace musubi::wrapper {

// The wrapper's own options.
struct Options {
  std::string mode = "hint";       // --musubi=: hint, adsm or udsm; off: the compiler as it is
  std::string granule;             // --musubi-granule=, bytes; empty: the largest
  std::string stores = "plain";    // --musubi-stores=: home-only or plain
  std::string atomics = "source";  // --musubi-atomics=: source or processor
  bool remarks = false;            // --musubi-report
  std::string report_file;         // --musubi-report=FILE
  bool help = false;               // --musubi-help
};

// Takes the wrapper's options out of `arguments`. Those of `variable` (MUSUBI_CC_OPTIONS, blanks between
// them; may be null) come first, so that the command line has the last word. Result: an empty text, or the
// line that refuses an option.
std::string take_options(const char* variable, std::vector<std::string>& arguments, Options& options);

}  // namespace musubi::wrapper
