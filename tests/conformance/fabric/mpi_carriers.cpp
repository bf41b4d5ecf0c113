// mpi_carriers <adapter> <process> <file>: mpirun starts one process per carrier, each of which carries the
// messages of one rank of the suite's process, round by round.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "base/check.h"
#include "fabric/mpi/adapter.h"
#include "fabric/mpi/carrier.h"
#include "mpi_control.h"
#include "os/futex.h"
#include "os/memory.h"

namespace musubi::fabric::conformance {
namespace {

constexpr std::uint64_t look_again_ns = 200'000'000;

template <typename Value>
Value checked(Result<Value> result) {
  MUSUBI_CHECK(result.ok(), "%s", result.error().message.c_str());
  return std::move(result).value();
}

// Result: whether the word has changed; otherwise the suite has ended.
bool await_change(const MpiControl& control, const std::atomic<std::uint32_t>& word, std::uint32_t before,
                  pid_t suite) {
  while (word.load() == before) {
    if (control.quit.load() || ::kill(suite, 0) != 0) return false;
    os::futex_wait(word, before, look_again_ns);
  }
  return true;
}

// On a busy machine a carrier may be late by more than the other carriers wait.
bool settles(mpi::Carrier& carrier) {
  constexpr int attempts = 10;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    if (carrier.settle()) return true;
  }
  return false;
}

void serve(const musubi_mpi_calls& calls, std::uint32_t rank, pid_t suite, MpiControl& control) {
  for (std::uint32_t round = 1;; ++round) {
    control.ready.fetch_add(1);
    if (!await_change(control, control.round, round - 1, suite)) return;
    const bool takes_part = rank < control.ranks;
    mpi::SharedParcels shared =
        checked(takes_part ? mpi::SharedParcels::open(suite, control.shared_files[rank], control.ranks)
                           : mpi::SharedParcels::create(1));
    mpi::Carrier carrier(calls, shared, false, static_cast<int>(round));
    std::thread end([&] {
      await_change(control, control.ended, round - 1, suite);
      carrier.stop();
    });
    if (takes_part) checked(carrier.run().ok() ? Result<int>(0) : Result<int>(Error{"MPI has failed"}));
    end.join();
    MUSUBI_CHECK(settles(carrier), "messages are under way, or not all carriers are there");
  }
}

int run(const char* adapter, pid_t suite, int file) {
  const musubi_mpi_calls* const calls = checked(mpi::load_adapter(adapter, mpi::Purpose::start));
  musubi_mpi_place place{};
  MUSUBI_CHECK(calls->start(&place) == 0, "MPI does not begin");
  MUSUBI_CHECK(place.ranks == static_cast<int>(carrier_count), "%d carriers", place.ranks);
  const os::FileDescriptor opened = checked(os::open_file_of_process(suite, file));
  const os::Mapping memory =
      checked(os::Mapping::anywhere(os::page_bytes(), os::Protection::read_write, {opened.number(), 0}));
  serve(*calls, static_cast<std::uint32_t>(place.rank), suite, *reinterpret_cast<MpiControl*>(memory.data()));
  return calls->finish();
}

}  // namespace
}  // namespace musubi::fabric::conformance

int main(int, char** arguments) {
  return musubi::fabric::conformance::run(arguments[1], std::atoi(arguments[2]), std::atoi(arguments[3]));
}
