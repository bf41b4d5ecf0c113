// musubi.h for C++20: the same functions with objects that clean up, exceptions, spans and allocators.
//
//     #include <musubi/musubi.hpp>
//     int main(int argc, char** argv) {
//       musubi::job job(argc, argv);
//       musubi::shared_array<double> roots(1000);  // collective
//       const auto mine = musubi::part_of(roots.span(), musubi::rank(), musubi::size());
//       for (double& root : mine) root = std::sqrt(static_cast<double>(&root - roots.data()));
//       musubi::barrier();
//       const double largest = musubi::allreduce(roots[999], musubi::operation::max);
//       std::printf("%g\n", largest);
//     }
//
// The rules of musubi.h about visibility, threads, blocking and collective calls hold here, too. A function
// throws musubi::error where the C function returns an error code. Headers only: link with -lmusubi.
#pragma once

#include <musubi/cpp/atomic.hpp>
#include <musubi/cpp/collectives.hpp>
#include <musubi/cpp/error.hpp>
#include <musubi/cpp/job.hpp>
#include <musubi/cpp/locks.hpp>
#include <musubi/cpp/memory.hpp>
#include <musubi/musubi.h>
