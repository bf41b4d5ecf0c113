// A message network over an endpoint of libfabric: unconnected, reliable (FI_EP_RDM). It also does gets and
// puts of peers' regions, if it is opened with some (remote_memory.h).
//
// Only one thread at a time should sleep for the queue, because each message would wake both sleepers. So the
// service thread does not watch it while a waiter sleeps, nor until the arrivals that woke the waiter have
// been received; poll() then makes it watch again. If the queue has no descriptor, both take naps.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/spin_lock.h"
#include "fabric/messages/net.h"
#include "fabric/ofi/library.h"
#include "fabric/ofi/remote_memory.h"
#include "os/memory.h"
#include "os/sockets.h"

namespace musubi::fabric::ofi {

class OfiNet final : public MessageNet {
 public:
  // Opens an endpoint. `patience`: how long a message may be refused before its peer counts as gone.
  // `reachable`: the memory that peers access themselves, if `info` supports it.
  static Result<std::unique_ptr<OfiNet>> open(const Library& library, Info info, Rank self,
                                              std::uint32_t ranks, std::chrono::milliseconds patience,
                                              const Reachable& reachable);
  ~OfiNet() override;

  // Its address, for peers.
  const std::string& address() const noexcept { return address_; }
  // The addresses of all ranks, by rank; empty for a rank that cannot take part. Before the first message.
  Result<void> know(const std::vector<std::string>& addresses);
  // The keys of this rank's regions, for peers, and those that a peer has sent.
  RemoteMemory::Told own_regions() const noexcept { return remote_.own(); }
  void know_regions(Rank peer, const RemoteMemory::Told& told) noexcept { remote_.know(peer, told); }

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return ranks_; }
  std::size_t parcel_bytes() const noexcept override;
  std::string_view name() const noexcept override { return name_; }
  Parcel* open_group(std::uint32_t group) noexcept override;
  Sent send(Rank peer, Parcel& parcel, std::size_t bytes, Purpose purpose) noexcept override;
  void give_back(Parcel& parcel) noexcept override { post(slots()[parcel.number]); }
  bool begin_move(Rank peer, const Step& step, void* token) noexcept override {
    library_.enter();
    return remote_.begin(peer, peers_[peer.value], step, token);
  }
  std::size_t move_bytes_min() const noexcept override { return remote_.bytes_min(); }
  Polled poll(ParcelReceiver& receiver) noexcept override;
  void sleep(Sleeper sleeper, int timeout_ms) noexcept override;
  void wake(Sleeper sleeper) noexcept override { bells_[index(sleeper)].ring(); }
  int rope(Sleeper sleeper) const noexcept override { return bells_[index(sleeper)].write_end(); }

 private:
  // The library's data for a parcel, by its number. Zero memory initially.
  struct Slot : Operation {
    Parcel* parcel;
    void* descriptor;  // of registered memory
    Slot* next;        // in a list of waiting slots
    std::uint32_t bytes;
    std::uint64_t gives_up_ns;  // of a waiting slot
  };
  // Slots that the library does not accept now.
  struct Waiting {
    SpinLock lock;
    Slot* first MUSUBI_GUARDED_BY(lock) = nullptr;
    std::atomic<std::uint32_t> count{0};

    void push(Slot& slot) noexcept;
    Slot* take_all() noexcept;
  };

  OfiNet(const Library& library, Info info, Rank self, std::uint32_t ranks,
         std::chrono::milliseconds patience, std::size_t rma_bytes_min);
  // Identify the sources in the sleepers' sets.
  static constexpr std::uint64_t bell_data = 0, queue_data = 1;

  static std::size_t index(Sleeper sleeper) noexcept { return static_cast<std::size_t>(sleeper); }
  Slot* slots() noexcept { return reinterpret_cast<Slot*>(slot_memory_.data()); }
  Parcel* parcels() noexcept { return reinterpret_cast<Parcel*>(parcel_memory_.data()); }
  Result<void> open_objects();
  Result<void> open_queue();
  Result<void> open_sleepers();
  Error problem(const char* doing, long status) const;
  bool register_group(std::uint32_t group) noexcept;

  bool inject(const Slot& slot) noexcept;
  long try_send(Slot& slot) noexcept;
  long read(std::span<fi_cq_msg_entry> entries) noexcept;
  void post(Slot& slot) noexcept;
  void send_waiting(ParcelReceiver& receiver) noexcept;
  void post_waiting() noexcept;
  void ended(Operation& operation, std::size_t bytes, ParcelReceiver& receiver) noexcept;
  bool take_error(ParcelReceiver& receiver) noexcept;
  void report_failures(ParcelReceiver& receiver) noexcept;
  void note_failure(std::uint32_t peer) noexcept;
  static bool is_to_send(const Slot& slot) noexcept;
  bool queue_is_quiet() noexcept;
  enum class Sleep : std::uint8_t { none, until_called, until_something_comes };
  Sleep kind_of_sleep(Sleeper sleeper) noexcept;
  Polled poll_some(ParcelReceiver& receiver) noexcept;
  void watch_again() noexcept;
  void nap(Sleeper sleeper) noexcept;

  const Library& library_;
  const Info info_;
  const Rank self_;
  const std::uint32_t ranks_;
  const std::uint64_t patience_ns_;
  const std::string name_;
  std::string address_;

  Owned<fid_fabric> fabric_;
  Owned<fid_domain> domain_;
  Owned<fid_av> book_;
  Owned<fid_cq> queue_;
  std::vector<std::atomic<fid_mr*>> registered_;  // by group
  Owned<fid_ep> endpoint_;
  std::vector<fi_addr_t> peers_;
  os::Mapping slot_memory_, parcel_memory_, bytes_;

  CallLock calls_;  // around calls of the library, once peers are known
  RemoteMemory remote_;
  Waiting to_send_, to_post_;
  std::vector<std::atomic<std::uint64_t>> failed_;  // a bit per peer
  std::atomic<bool> any_failed_{false};

  int queue_number_ = -1;    // the queue's descriptor
  os::ReadySet sets_[2];     // by Sleeper
  os::WakeupPipe bells_[2];  // by Sleeper
  std::atomic<bool> polling_{false};
  std::atomic<std::uint64_t> polls_{0};
  std::uint64_t sent_to_poll_[2]{};        // by Sleeper: polls_ when it was last sent to poll
  std::atomic<bool> leaves_to_poll_[2]{};  // by Sleeper: it sleeps despite arrivals
  std::atomic<std::uint32_t> waiters_{0};
  std::atomic<bool> service_is_blind_{false};
  std::atomic<std::uint32_t> idle_naps_{0};
};

}  // namespace musubi::fabric::ofi
