// Shared by the programs over messages: programs of bench/apps and examples, written with MPI for comparison.
#pragma once

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int peers_self = 0, peers_count = 1;

static inline void peers_begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &peers_self);
  MPI_Comm_size(MPI_COMM_WORLD, &peers_count);
}

// The beginning of the part of `process`, when the processes share so many elements; for peers_count, their
// number.
static inline int64_t peers_first(int64_t things, int process) {
  return things * process / peers_count;
}

static inline double peers_sum(double value) {
  double sum = 0.0;
  MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}
static inline double peers_max(double value) {
  double most = 0.0;
  MPI_Allreduce(&value, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}

// Zeroed memory, or the end of the job.
static inline void* peers_allocate(size_t count, size_t size) {
  void* memory = calloc(count, size);
  if (memory == NULL) {
    fprintf(stderr, "out of memory\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return memory;
}

// The first process prints the result; returns the exit status of every process.
static inline int peers_finish(int verified, double seconds) {
  if (peers_self == 0) {
    printf("VERIFICATION %s\n", verified ? "SUCCESSFUL" : "FAILED");
    printf("time %.6f s\n", seconds);
  }
  MPI_Finalize();
  return verified ? 0 : 1;
}
