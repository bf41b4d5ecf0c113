/* Over MPI, as a user would write it. */
#include <mpi.h>

#include "eager.h"

const char* const eager_name = "MPI";
const size_t eager_bytes_max = 1 << 20;

static int other;

int eager_begin(int* argc, char*** argv) {
  int rank = 0;
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  return rank;
}
/* MPI limits the size of eager messages: a buffered send keeps those that have not been sent. */
void eager_send(const void* message, size_t bytes) {
  enum { kept = 256 };
  static MPI_Request requests[kept];
  static char copies[kept][16384];
  static int next, used;
  if (used == kept) {
    MPI_Wait(&requests[next], MPI_STATUS_IGNORE);
  } else {
    ++used;
  }
  __builtin_memcpy(copies[next], message, bytes);
  MPI_Isend(copies[next], (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[next]);
  next = (next + 1) % kept;
}
void eager_receive(void* message, size_t bytes) {
  MPI_Recv(message, (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
void eager_meet(void) {
  MPI_Barrier(MPI_COMM_WORLD);
}
void eager_end(void) {
  MPI_Finalize();
}
