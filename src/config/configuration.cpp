#include "config/configuration.h"

#include <algorithm>
#include <cctype>
#include <vector>

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

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(previous);
    previous.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, previous[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t length_max = 200;
  if (name.size() > length_max) return {};
  std::string_view best;
  std::size_t best_distance = name.size() / 3 + 2;  // beyond this it is another name, not a typing error
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace musubi::config
