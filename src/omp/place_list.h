// OMP_PLACES and OMP_PROC_BIND as texts (specification 5.1, sections 6.4 and 6.5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "omp/placement.h"
#include "os/topology.h"

namespace musubi::omp {

// Places as the user asks for them: by a kind, or one by one.
struct PlaceList {
  std::string text;  // as given
  std::optional<os::ProcessorGroup> kind;
  std::uint32_t count_max = 0;         // of a kind, on each rank; 0: all
  std::vector<os::Processors> places;  // without a kind
};

// Nothing: the text is invalid.
std::optional<PlaceList> parse_places(std::string_view text);

// One policy per nesting level.
std::optional<std::vector<ProcBind>> parse_bind_list(std::string_view text);

// The places of a rank that may use these processors (ascending). At least one: a list that names none of
// them is replaced by a place with all of them.
std::vector<os::Processors> places_among(const PlaceList& list, const os::Processors& processors);

}  // namespace musubi::omp
