// What Musubi asks of an MPI, as a table of functions in C: adapter.c fills it in, compiled with the headers
// of that MPI, for each has a binary interface of its own. Musubi sees no other header of MPI.
//
// All calls: one thread at a time, any thread. Result, unless said: 0, or an error of MPI, which explain()
// puts into words.
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
  int ranks_here;  // that share memory with this one
};

// A message that has left, or has come.
struct musubi_mpi_done {
  int slot;
  int error;  // 0: none
  int bytes;
};

struct musubi_mpi_calls {
  int version;
  // As the library calls itself. Before start(), too.
  void (*library)(char* text, int bytes);
  // Joins the job that the launcher has started. Blocks.
  int (*start)(struct musubi_mpi_place* place);
  // Collective: `all` gets the `bytes` bytes of each rank, by rank. Blocks, asleep.
  int (*gather)(const void* own, void* all, int bytes);
  // Begin with a message; its slot (0 to musubi_mpi_slots - 1) must be free. Never block. Who receives takes
  // what has this tag, from whomever.
  int (*send)(int slot, const void* bytes, int count, int peer, int tag);
  int (*receive)(int slot, void* bytes, int count, int tag);
  // Makes progress. Never blocks. `done` gets what has come to its end since, `count` how many; their slots
  // are free.
  int (*look)(struct musubi_mpi_done done[musubi_mpi_slots], int* count);
  // Frees the slot of a message that has not come.
  int (*drop)(int slot);
  // Collective: called again and again until all ranks are there. Never blocks.
  int (*meet)(int* all_are_there);
  // Collective; the last call.
  int (*finish)(void);
  void (*explain)(int error, char* text, int bytes);
};

// What an adapter exports, by this name.
const struct musubi_mpi_calls* musubi_mpi_adapter(void);

#ifdef __cplusplus
}
#endif
