#include "options.h"

#include <sstream>

#include "src/checks/abi.h"

namespace musubi::wrapper {

namespace {

bool is_granule(const std::string& bytes) {
  for (unsigned shift = MUSUBI_CHECKS_GRANULE_SHIFT_MIN; shift <= MUSUBI_CHECKS_GRANULE_SHIFT_MAX; ++shift)
    if (bytes == std::to_string(1U << shift)) return true;
  return false;
}

// Result: whether the argument is one of the wrapper's; `refusal` is set if it is a wrong one.
bool take(const std::string& argument, Options& options, std::string& refusal) {
  const std::string report = "--musubi-report=";
  const std::string mode = "--musubi=";
  const std::string granule = "--musubi-granule=";
  const std::string stores = "--musubi-stores=";
  const std::string atomics = "--musubi-atomics=";
  if (argument == mode + "hint" || argument == mode + "adsm" || argument == mode + "udsm" ||
      argument == mode + "off") {
    options.mode = argument.substr(mode.size());
  } else if (argument.starts_with(granule)) {
    options.granule = argument.substr(granule.size());
    if (!is_granule(options.granule))
      refusal = argument + " is no power of two from 64 to 4096: a granule has so many bytes";
  } else if (argument == stores + "home-only" || argument == stores + "plain") {
    options.stores = argument.substr(stores.size());
  } else if (argument == atomics + "source" || argument == atomics + "processor") {
    options.atomics = argument.substr(atomics.size());
  } else if (argument == "--musubi-report") {
    options.remarks = true;
  } else if (argument.starts_with(report) && argument.size() > report.size()) {
    options.report_file = argument.substr(report.size());
  } else if (argument == "--musubi-help") {
    options.help = true;
  } else if (argument.starts_with("--musubi")) {
    refusal = "there is no option " + argument +
              "; give --musubi=hint, adsm, udsm or off, --musubi-granule=BYTES, --musubi-stores=home-only or "
              "plain, --musubi-atomics=source or processor, or --musubi-report[=FILE]";
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string take_options(const char* variable, std::vector<std::string>& arguments, Options& options) {
  std::string refusal;
  std::istringstream words(variable == nullptr ? "" : variable);
  for (std::string word; words >> word;) {
    if (!take(word, options, refusal) && refusal.empty())
      refusal = "MUSUBI_CC_OPTIONS has " + word + ", which is no option of musubi-cc";
  }
  std::erase_if(arguments, [&](const std::string& argument) { return take(argument, options, refusal); });
  if (options.report_file.find(';') != std::string::npos)
    refusal = "--musubi-report takes no file name with a semicolon";
  return refusal;
}

}  // namespace musubi::wrapper
