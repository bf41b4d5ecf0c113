#include "config/configuration.h"

#include <algorithm>
#include <cctype>

#include "config/suggestion.h"
#include "config/value.h"

namespace musubi::config {
namespace {

Error unknown_name(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Declaration& declaration : declarations()) known.push_back(declaration.name);
  const std::string_view suggestion = nearest(name, known);
  std::string message = "there is no setting " + quoted(name);
  if (!suggestion.empty())
    message += "; did you mean " + std::string(suggestion) + "?";
  else
    message += "; `musubi settings` lists them";
  return Error{message};
}

}  // namespace

std::string_view to_string(Source source) {
  switch (source) {
    case Source::standard:
      return "default";
    case Source::environment:
      return "environment";
    case Source::command_line:
      return "command line";
  }
  return "";
}

Configuration::Configuration() : sources_(declarations().size(), Source::standard) {}

Result<void> Configuration::set(std::string_view name, std::string_view text, Source source) {
  const auto all = declarations();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.name == name; });
  if (found == all.end()) return unknown_name(name);
  const Result<Value> value = parse_value(*found, text);
  if (!value) return value.error();
  Source& current = sources_[static_cast<std::size_t>(found - all.begin())];
  if (source < current) return {};
  assign(settings_, *found, Result<Value>(value).value());
  current = source;
  return {};
}

Result<void> Configuration::set_assignment(std::string_view assignment, Source source) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return Error{quoted(assignment) + " is not of the form name=value"};
  }
  return set(assignment.substr(0, equals), assignment.substr(equals + 1), source);
}

Result<void> Configuration::set_unless_given(std::string_view name, std::string_view text) {
  const auto all = declarations();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name && sources_[i] != Source::standard) return {};
  }
  return set(name, text, Source::environment);
}

std::vector<std::string> Configuration::environment() const {
  std::vector<std::string> result;
  const auto all = declarations();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (sources_[i] == Source::standard) continue;
    result.push_back(variable_name(all[i].name) + "=" + format_value(all[i], value_of(settings_, all[i])));
  }
  return result;
}

std::string variable_name(std::string_view setting_name) {
  std::string result = "MUSUBI_";
  for (const char c : setting_name) result += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

}  // namespace musubi::config
