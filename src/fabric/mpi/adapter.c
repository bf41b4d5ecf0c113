// Musubi's adapter to an MPI: compiled by that MPI's own mpicc, as
//   mpicc -O2 -fPIC -shared -I src src/fabric/mpi/adapter.c -o libmusubi-mpi-site.so
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fabric/mpi/mpi_calls.h"

static MPI_Comm job = MPI_COMM_NULL;
static MPI_Request requests[musubi_mpi_slots];

static void nap(void) {
  const struct timespec duration = {0, 100000};
  nanosleep(&duration, NULL);
}

static void library(char* text, int bytes) {
  char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(whole, &length);
  snprintf(text, (size_t)bytes, "%s", whole);
  text[strcspn(text, ",\n")] = '\0';
  for (char* tab = text; (tab = strchr(tab, '\t')) != NULL;) *tab = ' ';
}

// MPI's blocking calls poll without a pause, and ranks may outnumber the cores.
static int await(MPI_Request* request) {
  for (;; nap()) {
    int done = 0;
    const int error = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS || done) return error;
  }
}

static int start(struct musubi_mpi_place* place) {
  int level = 0, error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
  if (error != MPI_SUCCESS) return error;
  if (level < MPI_THREAD_SERIALIZED) return MPI_ERR_OTHER;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm here = MPI_COMM_NULL;
  if ((error = MPI_Comm_dup(MPI_COMM_WORLD, &job)) != MPI_SUCCESS) return error;
  MPI_Comm_set_errhandler(job, MPI_ERRORS_RETURN);
  MPI_Comm_rank(job, &place->rank);
  MPI_Comm_size(job, &place->ranks);
  for (int slot = 0; slot < musubi_mpi_slots; ++slot) requests[slot] = MPI_REQUEST_NULL;
  error = MPI_Comm_split_type(job, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  if (error != MPI_SUCCESS) return error;
  MPI_Comm_size(here, &place->ranks_here);
  return MPI_Comm_free(&here);
}

static int gather(const void* own, void* all, int bytes) {
  MPI_Request request;
  const int error = MPI_Iallgather(own, bytes, MPI_BYTE, all, bytes, MPI_BYTE, job, &request);
  return error != MPI_SUCCESS ? error : await(&request);
}

static int send(int slot, const void* bytes, int count, int peer, int tag) {
  return MPI_Isend(bytes, count, MPI_BYTE, peer, tag, job, &requests[slot]);
}

static int receive(int slot, void* bytes, int count, int tag) {
  return MPI_Irecv(bytes, count, MPI_BYTE, MPI_ANY_SOURCE, tag, job, &requests[slot]);
}

static int look(struct musubi_mpi_done done[musubi_mpi_slots], int* count) {
  int slots[musubi_mpi_slots];
  MPI_Status states[musubi_mpi_slots];
  *count = 0;
  int error = MPI_SUCCESS;
  // Open MPI checks the requests first, and makes progress only afterwards.
  for (int tries = 0; tries < 2 && *count == 0 && error == MPI_SUCCESS; ++tries) {
    error = MPI_Testsome(musubi_mpi_slots, requests, count, slots, states);
    if (*count == MPI_UNDEFINED) *count = 0;
  }
  if (error != MPI_SUCCESS && error != MPI_ERR_IN_STATUS) return error;
  for (int i = 0; i < *count; ++i) {
    int bytes = 0;
    MPI_Get_count(&states[i], MPI_BYTE, &bytes);
    done[i].slot = slots[i];
    done[i].error = error == MPI_ERR_IN_STATUS ? states[i].MPI_ERROR : MPI_SUCCESS;
    done[i].bytes = bytes;
  }
  return MPI_SUCCESS;
}

static int drop(int slot) {
  if (requests[slot] == MPI_REQUEST_NULL) return MPI_SUCCESS;
  const int error = MPI_Cancel(&requests[slot]);
  return error != MPI_SUCCESS ? error : await(&requests[slot]);
}

static int meet(int* all_are_there) {
  static MPI_Request request = MPI_REQUEST_NULL;
  static int has_begun = 0;
  if (!has_begun) {
    const int error = MPI_Ibarrier(job, &request);
    if (error != MPI_SUCCESS) return error;
    has_begun = 1;
  }
  const int error = MPI_Test(&request, all_are_there, MPI_STATUS_IGNORE);
  if (*all_are_there) has_begun = 0;
  return error;
}

static int finish(void) {
  MPI_Comm_free(&job);
  return MPI_Finalize();
}

static void explain(int error, char* text, int bytes) {
  char whole[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, whole, &length);
  snprintf(text, (size_t)bytes, "%s", whole);
}

const struct musubi_mpi_calls* musubi_mpi_adapter(void) {
  static const struct musubi_mpi_calls calls = {
      musubi_mpi_version, library, start, gather, send, receive, look, drop, meet, finish, explain,
  };
  return &calls;
}
