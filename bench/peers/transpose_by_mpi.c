// The transpose (bench/apps/transpose.c) over messages: pieces are packed, exchanged all-to-all, and
// unpacked. Usage: mpirun -np 2 transpose_by_mpi [columns] [rows] [planes] [repetitions]; columns and planes
// divide by processes
#include "peers.h"
#include "transpose.h"

static struct transpose_shape shape;
static int own_planes, own_columns;

static void pack(const struct complex_value* box, struct complex_value* sent) {
  for (int process = 0; process < peers_count; process++) {
    for (int plane = 0; plane < own_planes; plane++) {
      for (int row = 0; row < shape.rows; row++) {
        const struct complex_value* from =
            box + ((size_t)plane * (size_t)shape.rows + (size_t)row) * (size_t)shape.columns +
            process * own_columns;
        for (int column = 0; column < own_columns; column++) *sent++ = from[column];
      }
    }
  }
}

static void unpack(const struct complex_value* received, struct complex_value* turned) {
  for (int process = 0; process < peers_count; process++) {
    for (int plane = 0; plane < own_planes; plane++) {
      for (int row = 0; row < shape.rows; row++) {
        struct complex_value* to = turned + (size_t)row * (size_t)shape.planes + process * own_planes + plane;
        for (int column = 0; column < own_columns; column++)
          to[(size_t)column * (size_t)shape.rows * (size_t)shape.planes] = *received++;
      }
    }
  }
}

int main(int argc, char** argv) {
  peers_begin(&argc, &argv);
  shape = transpose_shape_of(argc, argv);
  own_planes = shape.planes / peers_count;
  own_columns = shape.columns / peers_count;
  const size_t own = (size_t)own_planes * (size_t)shape.rows * (size_t)shape.columns;
  struct complex_value* box = peers_allocate(own, sizeof *box);
  struct complex_value* turned = peers_allocate(own, sizeof *turned);
  struct complex_value* sent = peers_allocate(own, sizeof *sent);
  struct complex_value* received = peers_allocate(own, sizeof *received);
  const int bytes = (int)(own / (size_t)peers_count * sizeof *box);
  double seconds = 0.0, start = 0.0;
  for (int i = 0; i < shape.repetitions; i++) {
    for (int plane = 0; plane < own_planes; plane++) {
      transpose_fill_plane(&shape, box + (size_t)plane * (size_t)shape.rows * (size_t)shape.columns,
                           peers_self * own_planes + plane, i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    pack(box, sent);
    MPI_Alltoall(sent, bytes, MPI_BYTE, received, bytes, MPI_BYTE, MPI_COMM_WORLD);
    unpack(received, turned);
    MPI_Barrier(MPI_COMM_WORLD);
    if (i > 0) seconds += MPI_Wtime() - start;  // the first touches memory
  }
  double wrong = 0.0;
  for (int column = 0; column < own_columns; column++) {
    wrong += (double)transpose_wrong_in_column(
        &shape, turned + (size_t)column * (size_t)shape.rows * (size_t)shape.planes,
        peers_self * own_columns + column, shape.repetitions - 1);
  }
  return peers_finish(peers_sum(wrong) == 0.0, seconds);
}
