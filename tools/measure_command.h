// `musubi measure`: a rank of the small job by which `musubi doctor --hosts` measures the network.
#pragma once

namespace musubi::tools {

// Opens the fabric of a job with these settings, and measures with the other ranks, one on each host. Rank 0
// prints the results in the form of network/measured.h, with ranks as the names of hosts. Blocks for some
// seconds. Result: the exit status.
int measure();

}  // namespace musubi::tools
