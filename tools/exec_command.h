// `musubi exec`: one rank of a job whose processes another launcher starts, as in `mpirun -n 4 musubi exec
// program`. The process of rank 0 leads the job; the other processes serve it as proxies do.
#pragma once

#include "run_command.h"

namespace musubi::tools {

// The exit status: on rank 0 the job's, on other ranks 0 when the job has ended.
int exec(RunOptions options);

}  // namespace musubi::tools
