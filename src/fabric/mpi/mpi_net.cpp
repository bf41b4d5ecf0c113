#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "fabric/handshake/handshake.h"
#include "fabric/messages/net.h"
#include "fabric/mpi/mpi.h"
#include "fabric/mpi/shared_parcels.h"
#include "os/clock.h"
#include "os/futex.h"
#include "os/memory.h"
#include "os/sockets.h"

namespace musubi::fabric::mpi {

// A message network over MPI: the rank's side, which hands parcels to the carrier and receives them from it.
class MpiNet final : public MessageNet {
 public:
  // Blocks until the carrier serves this rank. Errors: it does not; no memory or files.
  static Result<std::unique_ptr<MpiNet>> open(SharedParcels shared, Rank self, std::uint32_t ranks);
  ~MpiNet() override;

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return ranks_; }
  std::size_t parcel_bytes() const noexcept override { return mpi::parcel_bytes; }
  std::string_view name() const noexcept override { return "MPI"; }
  Parcel* open_group(std::uint32_t group) noexcept override;
  Sent send(Rank peer, Parcel& parcel, std::size_t bytes, Purpose purpose) noexcept override;
  void give_back(Parcel& parcel) noexcept override;
  Polled poll(ParcelReceiver& receiver) noexcept override;
  void sleep(Sleeper sleeper, int timeout_ms) noexcept override;
  void wake(Sleeper sleeper) noexcept override { bells_[index(sleeper)].ring(); }
  int rope(Sleeper sleeper) const noexcept override { return bells_[index(sleeper)].write_end(); }

 private:
  MpiNet(SharedParcels shared, Rank self, std::uint32_t ranks) noexcept;
  static std::size_t index(Sleeper sleeper) noexcept { return static_cast<std::size_t>(sleeper); }
  Parcel* parcels_of(std::uint32_t group) const noexcept;
  Result<void> meet_carrier();
  Polled take_marks(ParcelReceiver& receiver) noexcept;
  void report_failure(ParcelReceiver& receiver) noexcept;

  SharedParcels shared_;
  const Rank self_;
  const std::uint32_t ranks_;
  os::Mapping parcel_memory_;
  os::WakeupPipe bells_[2];                         // by Sleeper
  std::vector<std::atomic<std::uint8_t>> leaving_;  // by group: parcels held by the carrier
  std::atomic<bool> polling_{false};
  bool has_failed_ = false;
};

namespace {

constexpr std::uint64_t patience_ns = 20'000'000'000;
constexpr std::uint64_t ns_per_ms = 1'000'000;
constexpr std::uint32_t marks_of_way = (1u << parcels_of_way) - 1;

}  // namespace

MpiNet::MpiNet(SharedParcels shared, Rank self, std::uint32_t ranks) noexcept
    : shared_(std::move(shared)), self_(self), ranks_(ranks), leaving_(groups_of(ranks)) {}

MpiNet::~MpiNet() {
  std::uint32_t expected = served;
  shared_.head().state.compare_exchange_strong(expected, rank_left);
}

Result<std::unique_ptr<MpiNet>> MpiNet::open(SharedParcels shared, Rank self, std::uint32_t ranks) {
  std::unique_ptr<MpiNet> net(new MpiNet(std::move(shared), self, ranks));
  const std::size_t bytes = groups_of(ranks) * parcels_of_group * sizeof(Parcel);
  MUSUBI_ASSIGN_OR_RETURN(net->parcel_memory_, os::Mapping::anywhere(bytes, os::Protection::read_write));
  for (os::WakeupPipe& bell : net->bells_) {
    MUSUBI_ASSIGN_OR_RETURN(bell, os::WakeupPipe::create());
  }
  if (auto met = net->meet_carrier(); !met) return met.error();
  return net;
}

Result<void> MpiNet::meet_carrier() {
  SharedParcels::Head& head = shared_.head();
  head.process = ::getpid();
  for (const Sleeper sleeper : {Sleeper::waiter, Sleeper::service})
    head.ropes[index(sleeper)] = rope(sleeper);
  head.state.store(rank_is_there);
  os::futex_wake(head.state);
  const std::uint64_t begin_ns = os::monotonic_ns();
  while (head.state.load() == rank_is_there && os::monotonic_ns() - begin_ns < patience_ns) {
    os::futex_wait(head.state, rank_is_there, patience_ns);
  }
  if (head.state.load() == served) return {};
  return Error{
      "musubi exec, which speaks MPI for this rank, cannot reach it through /proc; let both run as the same "
      "user in one namespace of processes"};
}

Parcel* MpiNet::parcels_of(std::uint32_t group) const noexcept {
  return reinterpret_cast<Parcel*>(parcel_memory_.data()) + std::size_t{group} * parcels_of_group;
}

Parcel* MpiNet::open_group(std::uint32_t group) noexcept {
  Parcel* const first = parcels_of(group);
  for (std::uint32_t place = 0; place < parcels_of_group; ++place) {
    const std::uint32_t number = group * parcels_of_group + place;
    first[place] = {shared_.bytes_of(number), number, group, place};
  }
  shared_.to_carrier.put(group, marks_of_way << parcels_of_way);
  return first;
}

// The carrier calls only when the last free parcel has left, because a sender may wait for one.
MessageNet::Sent MpiNet::send(Rank peer, Parcel& parcel, std::size_t bytes, Purpose) noexcept {
  const bool is_last = leaving_[parcel.group].fetch_add(1) + 1u >= parcels_of_way;
  shared_.label_of(parcel.number) = {peer.value, static_cast<std::uint32_t>(bytes), is_last};
  shared_.to_carrier.put(parcel.group, 1u << parcel.place);
  std::atomic<std::uint32_t>& sleeps = shared_.head().carrier_sleeps;
  if (sleeps.load() != 0 && sleeps.exchange(0) != 0) os::futex_wake(sleeps, 1);
  return Sent::later;
}

// The group has more parcels to receive into, so the carrier need not be woken.
void MpiNet::give_back(Parcel& parcel) noexcept {
  shared_.to_carrier.put(parcel.group, 1u << parcel.place);
}

// A thread that finds another thread polling sleeps until that one has finished, because it may have lost its
// processor.
Polled MpiNet::poll(ParcelReceiver& receiver) noexcept {
  polling_.store(true);
  const Polled polled = take_marks(receiver);
  polling_.store(false);
  for (const Sleeper sleeper : {Sleeper::waiter, Sleeper::service}) {
    std::atomic<std::uint32_t>& sleeps = shared_.head().sleeps[index(sleeper)];
    if (sleeps.load() != 0 && shared_.to_rank.any() && sleeps.exchange(0) != 0) wake(sleeper);
  }
  return polled;
}

Polled MpiNet::take_marks(ParcelReceiver& receiver) noexcept {
  Polled polled = Polled::nothing;
  shared_.to_rank.take([&](std::uint32_t group, std::uint32_t marks) {
    polled = Polled::something;
    for (; marks != 0; marks &= marks - 1) {
      Parcel& parcel = parcels_of(group)[std::countr_zero(marks)];
      if (parcel.place < parcels_of_way) {
        leaving_[group].fetch_sub(1);
        receiver.sent(parcel);
      } else {
        receiver.arrived(parcel, shared_.label_of(parcel.number).bytes);
      }
    }
  });
  if (shared_.head().state.load(std::memory_order_relaxed) == failed && !has_failed_)
    report_failure(receiver);
  return polled;
}

void MpiNet::report_failure(ParcelReceiver& receiver) noexcept {
  has_failed_ = true;
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    if (rank != self_.value) receiver.failed(Rank{rank});
  }
}

// No arrival is missed: the carrier stores it, then checks who sleeps; this thread announces its sleep, then
// checks for arrivals.
void MpiNet::sleep(Sleeper sleeper, int timeout_ms) noexcept {
  std::atomic<std::uint32_t>& sleeps = shared_.head().sleeps[index(sleeper)];
  const os::WakeupPipe& bell = bells_[index(sleeper)];
  sleeps.store(1);
  const bool is_quiet = polling_.load() || !shared_.to_rank.any();
  const std::uint64_t timeout_ns =
      timeout_ms < 0 ? os::no_timeout : static_cast<std::uint64_t>(timeout_ms) * ns_per_ms;
  if (bell.await(is_quiet ? timeout_ns : 0)) bell.silence();
  sleeps.store(0);
}

}  // namespace musubi::fabric::mpi

namespace musubi::fabric {
namespace {

Result<std::unique_ptr<mpi::MpiNet>> open_net(Rank self, std::uint32_t ranks, const MpiOptions& options) {
  if (options.carrier == 0) {
    return Error{
        "far_fabric=mpi and near_fabric=mpi are for jobs that an MPI starts; write `mpirun -n 4 musubi exec "
        "--set far_fabric=mpi program`, or leave them out"};
  }
  MUSUBI_ASSIGN_OR_RETURN(auto shared, mpi::SharedParcels::open(options.carrier, options.file, ranks));
  return mpi::MpiNet::open(std::move(shared), self, ranks);
}

Result<void> compare_builds(const std::vector<std::string>& builds, std::uint32_t ranks,
                            std::string_view own) {
  if (auto all = expect_from_all(builds, ranks, "builds", "mpirun"); !all) return all;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    // A rank that failed reports it itself.
    if (!builds[rank].empty() && builds[rank] != own) return other_build(rank);
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<MessageTransport>> open_mpi(Rank self, std::uint32_t ranks, const MpiOptions& options,
                                                   const Exchange& exchange) {
  auto net = open_net(self, ranks, options);
  // After a failure this rank still takes part in the exchanges, with an empty blob: the peers must not hang.
  const std::string build(options.messages.build);
  MUSUBI_ASSIGN_OR_RETURN(auto builds, exchange(net ? build : std::string{}));
  const Result<void> alike = compare_builds(builds, ranks, build);
  Result<std::unique_ptr<MessageTransport>> transport =
      !net     ? Result<std::unique_ptr<MessageTransport>>(net.error())
      : !alike ? Result<std::unique_ptr<MessageTransport>>(alike.error())
               : MessageTransport::create(std::move(net).value(), options.messages);
  auto agreed = agree(transport ? Result<void>() : Result<void>(transport.error()), exchange);
  if (!agreed) return agreed.error();
  return transport;
}

}  // namespace musubi::fabric
