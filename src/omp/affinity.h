// What threads say about themselves: affinity-format-var and its fields (specification 5.1, section 6.14).
#pragma once

#include <string>
#include <string_view>

namespace musubi::omp {

// The format with its fields replaced by what holds for the calling thread.
std::string affinity_text(std::string_view format);

// affinity-format-var. All ranks see the same one.
std::string affinity_format();
void set_affinity_format(std::string_view format);

// One line on standard error.
void print_affinity(std::string_view format);
// At the begin of a region, with OMP_DISPLAY_AFFINITY: prints when it is not what the thread printed last.
void display_affinity_when_changed();

}  // namespace musubi::omp
