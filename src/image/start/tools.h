// The tools of OpenMP (OMPT) that a rank may start: in the program, in its libraries, in OMP_TOOL_LIBRARIES.
#pragma once

#include <vector>

#include "base/address_range.h"
#include "image/libraries/library_choice.h"

namespace musubi::image {

// Reads OMP_TOOL. If tools are wanted, makes the loaded libraries that contain one private to the rank, so
// that each rank has its own tool. Before `choice` decides.
void keep_tools_private(LibraryChoice& choice);

// Loads the libraries of OMP_TOOL_LIBRARIES, private as well, and tells the OpenMP layer of all tools.
// Result: the ranges of the tools' libraries. Once, after the constructors of private libraries.
std::vector<AddressRange> find_tools(LibraryChoice& choice, bool is_first_rank);

}  // namespace musubi::image
