#include "options.h"

#include <sstream>

namespace musubi::wrapper {

namespace {

// Result: whether the argument is one of the wrapper's; `refusal` is set if it is a wrong one.
bool take(const std::string& argument, Options& options, std::string& refusal) {
  const std::string report = "--musubi-report=";
  const std::string mode = "--musubi=";
  const std::string stores = "--musubi-stores=";
  if (argument == mode + "hint" || argument == mode + "adsm" || argument == mode + "udsm" ||
      argument == mode + "off") {
    options.mode = argument.substr(mode.size());
  } else if (argument == stores + "home-only" || argument == stores + "plain") {
    options.stores = argument.substr(stores.size());
  } else if (argument == "--musubi-report") {
    options.remarks = true;
  } else if (argument.starts_with(report) && argument.size() > report.size()) {
    options.report_file = argument.substr(report.size());
  } else if (argument == "--musubi-help") {
    options.help = true;
  } else if (argument.starts_with("--musubi")) {
    refusal = "there is no option " + argument +
              "; give --musubi=hint, adsm, udsm or off, --musubi-stores=home-only or plain, or "
              "--musubi-report[=FILE]";
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
