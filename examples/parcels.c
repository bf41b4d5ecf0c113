/* Each process leaves parcels at the next process, which reads them later and takes no part in their
 * delivery.
 *
 *   musubi run -n 4 parcels
 */
#include <musubi/gheap.h>
#include <musubi/musubi.h>
#include <stdio.h>
#include <stdlib.h>

enum { parcels = 3, heap_bytes = 1 << 20 };

struct parcel {
  long next; /* the previous parcel; 0: none */
  int from, number;
};

/* The first word of a process's heap: the place of its newest parcel. */
enum { newest = 0 };

static void require(int holds) {
  if (!holds) musubi_abort(1, musubi_gerror_text(musubi_gerror()));
}

static void send(int process, int number) {
  struct parcel parcel = {0, musubi_rank(), number};
  const long place = musubi_galloc(process, sizeof parcel);
  require(place >= 0);
  require(musubi_gget(process, newest, &parcel.next, sizeof parcel.next) == 0);
  require(musubi_gput(process, place, &parcel, sizeof parcel) == 0);
  require(musubi_gput(process, newest, &place, sizeof place) == 0);
}

/* Result: the number of parcels. */
static int read_all(int self) {
  int count = 0;
  const long* const first = musubi_gaddress(self, newest);
  for (long place = *first; place != 0; ++count) {
    const struct parcel parcel = *(const struct parcel*)musubi_gaddress(self, place);
    printf("process %d: parcel %d of process %d\n", self, parcel.number, parcel.from);
    require(musubi_gfree(self, place) == 0);
    place = parcel.next;
  }
  return count;
}

int main(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return EXIT_FAILURE;
  const int self = musubi_rank(), next = (self + 1) % musubi_size();
  require(ginit(heap_bytes) == 0);
  require(sgbrk(self, sizeof(long)) == newest); /* the first allocation; the heap is zeroed */
  musubi_barrier();

  for (int i = 0; i < parcels; ++i) send(next, i);
  musubi_barrier();
  const int count = read_all(self);
  musubi_finalize(count == parcels ? EXIT_SUCCESS : EXIT_FAILURE);
  return EXIT_SUCCESS;
}
