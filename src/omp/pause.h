// omp_pause_resource on the host: OpenMP's threads end, and with them their threadprivate variables. The next
// region starts new ones.
#pragma once

#include "omp/job.h"

namespace musubi::omp {

// The calling thread asks for a pause. Result: whether it is outside all regions, so that there can be one. A
// thread that the program made itself ends only threads of its rank that serve no team.
bool pause_host();

// A rank other than 0 takes part in a pause that rank 0 has announced: first its threads end, then the thread
// that represents it ends and a new one takes its place (process.h). begin: on the old thread.
void begin_pause_here(Job& job);
void end_pause_here(Job& job);

}  // namespace musubi::omp
