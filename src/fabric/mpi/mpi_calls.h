// The functions of an MPI that Musubi uses, as a table in C. adapter.c fills it in, compiled with the headers
// of that MPI, because each MPI has its own binary interface. Musubi includes no other header of MPI.
//
// All calls: one thread at a time, any thread. Result, unless stated otherwise: 0, or an error of MPI, which
// explain() describes.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

enum {
  musubi_mpi_version = 1,  // of this table
  musubi_mpi_slots = 80    // messages that can be under way at one process
};

struct musubi_mpi_place {
  int rank, ranks;
  int ranks_here;  // that share memory with this one, including it
};

// A message that has left or arrived.
struct musubi_mpi_done {
  int slot;
  int error;  // 0: none
  int bytes;
};

struct musubi_mpi_calls {
  int version;
  // The library's own name. Valid before start(), too.
  void (*library)(char* text, int bytes);
  // Joins the job that the launcher has started. Blocks.
  int (*start)(struct musubi_mpi_place* place);
  // Collective: `all` receives the `bytes` bytes of each rank, by rank. Blocks, asleep.
  int (*gather)(const void* own, void* all, int bytes);
  // Start a message in a free slot (0 to musubi_mpi_slots - 1). Never block. receive() accepts a message with
  // this tag from any rank.
  int (*send)(int slot, const void* bytes, int count, int peer, int tag);
  int (*receive)(int slot, void* bytes, int count, int tag);
  // Makes progress. Never blocks. `done` receives the `count` operations that have completed since, whose
  // slots are free.
  int (*look)(struct musubi_mpi_done done[musubi_mpi_slots], int* count);
  // Frees the slot of a receive without a message.
  int (*drop)(int slot);
  // Collective: call it until all ranks have called. Never blocks.
  int (*meet)(int* all_are_there);
  // Collective; the last call.
  int (*finish)(void);
  void (*explain)(int error, char* text, int bytes);
};

// The function that an adapter exports.
const struct musubi_mpi_calls* musubi_mpi_adapter(void);

#ifdef __cplusplus
}
#endif
