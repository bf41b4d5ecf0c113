// "Did you mean ...?" for misspelt names.
#pragma once

#include <span>
#include <string_view>

namespace musubi::config {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, or empty if none is near enough to be a likely typing error. Both at most
// a few hundred characters; a longer name has no suggestion.
std::string_view nearest(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace musubi::config
