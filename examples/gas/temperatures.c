/* Measured values in global pages: every rank adds to them from afar, one rank brings the pages that it
 * works on to itself, and at last all ranks see them as shared memory.
 *
 *   musubi run -n 4 temperatures
 */
#include <musubi/gas.h>
#include <musubi/musubi.h>
#include <stdio.h>
#include <stdlib.h>

enum { stations = 1000, page_bytes = 4096 };

static void require(int result) {
  if (result < 0) musubi_abort(1, gas_error_text(gas_error()));
}

static gas_address station(gas_address values, int index) {
  return values + (gas_address)index * sizeof(double);
}

int main(int argc, char** argv) {
  if (musubi_init(&argc, &argv) != MUSUBI_OK) return EXIT_FAILURE;
  const int rank = musubi_rank(), ranks = musubi_size();

  /* Collective: pages placed round-robin at the ranks, all zero. The last word counts. */
  const gas_address values = gas_alloc((stations + 1) * sizeof(double), page_bytes, GAS_CYCLIC);
  if (values == 0) require(-1);
  const gas_address counter = station(values, stations);

  /* Each rank writes the stations that are its own, wherever their pages are, and counts them. */
  for (int i = rank; i < stations; i += ranks) {
    const double degrees = 10 + i % 7;
    require(gas_put(station(values, i), &degrees, sizeof degrees));
    require(gas_fetch_add(counter, 1, NULL));
  }
  musubi_barrier();

  /* The last rank brings all pages to itself: from here on its gets and puts cause no traffic. */
  if (rank == ranks - 1) {
    require(gas_own(values, (stations + 1) * sizeof(double)));
    for (int i = 0; i < stations; ++i) {
      double degrees = 0;
      require(gas_get(station(values, i), &degrees, sizeof degrees));
      degrees += 273;
      require(gas_put(station(values, i), &degrees, sizeof degrees));
    }
  }
  musubi_barrier();

  /* Collective: the same pages as shared memory, for plain loads and stores. */
  void* memory = NULL;
  require(gas_share(values, &memory));
  const double* const kelvin = memory;
  double sum = 0;
  for (int i = 0; i < stations; ++i) sum += kelvin[i];
  require(gas_unshare(values));

  uint64_t count = 0;
  require(gas_get(counter, &count, sizeof count));
  const int right = count == stations && sum > 285.9 * stations && sum < 286.1 * stations;
  if (rank == 0) printf("%llu values, %.2f K on average\n", (unsigned long long)count, sum / stations);
  require(gas_free(values));
  musubi_finalize(right ? EXIT_SUCCESS : EXIT_FAILURE);
  return EXIT_SUCCESS;
}
