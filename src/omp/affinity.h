// The affinity text of threads: affinity-format-var and its fields (specification 5.1, section 6.14).
#pragma once

#include <string>
#include <string_view>

namespace musubi::omp {

// The format, with its fields filled in for the calling thread.
std::string affinity_text(std::string_view format);

// affinity-format-var. All ranks see the same format.
std::string affinity_format();
void set_affinity_format(std::string_view format);

// One line on standard error.
void print_affinity(std::string_view format);
// At the beginning of a region, with OMP_DISPLAY_AFFINITY: prints the text if it differs from the thread's
// last one.
void display_affinity_when_changed();

}  // namespace musubi::omp
