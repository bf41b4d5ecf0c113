// A fabric over any transport: active messages. A batch is one request and one reply; its target carries it
// out with processor instructions, in progress() of any polling thread, mostly the service thread. Small
// messages share the request lanes. Nothing here blocks: an operation that cannot be taken is `busy`, and
// bytes that cannot leave stay in place until the lane takes bytes again.
//
// Memory is bounded: pools of entries for batches and messages (outbox.h), and buffers per peer that take
// memory on first use (server.h, answers.h).
//
// Floods in both directions make progress: the place of a reply is known before it arrives, so replies are
// always received. So reply lanes drain, so requests are carried out, so request lanes drain.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/active_messages/answers.h"
#include "fabric/active_messages/link_meter.h"
#include "fabric/active_messages/outbox.h"
#include "fabric/active_messages/server.h"
#include "fabric/active_messages/sleepers.h"
#include "fabric/active_messages/transport.h"
#include "fabric/fabric.h"
#include "fabric/memory/steps.h"
#include "fabric/waiting.h"
#include "hooks/hooks.h"
#include "trace/counters.h"

namespace musubi::fabric {

// Gets and puts that the network carries out itself (Transport::begin_move): batches of one step that is long
// enough. In longer batches the order of the steps matters, and only the target's processor keeps it.
// Signal-safe.
class Moves {
 public:
  Moves(Transport& transport, trace::Counters& counters);

  // As Fabric::post. Result: false if the batch must go as a request. Any thread.
  bool begin(Rank peer, std::span<const Step> steps, Event& completion) noexcept;
  // Completes the move. Inside Transport::poll.
  void end(void* token) noexcept;

 private:
  Transport& transport_;
  trace::Counters& counters_;
  const std::size_t bytes_min_;
  EntryPool under_way_;
};

// Is told when a peer is lost.
class PeerWatcher {
 public:
  // Batches posted to the peer never complete. Called inside progress(), once per peer; must not block.
  virtual void peer_failed(Rank peer, Loss loss) noexcept = 0;

 protected:
  ~PeerWatcher() = default;
};

class ActiveMessages final : public JointSleep, private Receiver {
 public:
  // `transport`, `counters`, `watcher` (may be null) and the regions' memory outlive this. Regions have the
  // same ids and sizes on every rank. No rank makes progress before every rank has registered its listeners.
  // `distance` of the peers, as far as it is known.
  ActiveMessages(Transport& transport, std::span<const RegionMemory> regions, trace::Counters& counters,
                 WaitingPolicy policy, PeerWatcher* watcher = nullptr, Outbox::Limits limits = {},
                 Distance distance = {}, Hooks hooks = {});

  Rank self() const noexcept override { return self_; }
  std::uint32_t ranks() const noexcept override { return transport_.ranks(); }
  // Only instructions of the owner's processor change a word.
  Capabilities capabilities(Rank peer) const noexcept override {
    return {.cpu_atomics_coherent = true,
            .local_pointer = peer == self_,
            .bandwidth_delay_bytes = peer == self_ ? 0 : meter_.bandwidth_delay_bytes()};
  }

  Outcome post(Rank peer, std::span<const Step> steps, Event& completion) noexcept override;
  Outcome send(Rank peer, MessageKind kind, Urgency urgency,
               std::span<const std::byte> body) noexcept override;
  void listen(MessageKind kind, Listener* listener) noexcept override;
  void offer(ProcedureId id, Procedure procedure) noexcept override { procedures_.offer(id, procedure); }
  bool progress() noexcept override { return progress(Caller::may_leave); }

  // Delivers arrivals before it returns.
  void wait(const std::atomic<bool>& ready) noexcept override;
  void wake() noexcept override { sleepers_.wake(); }
  void wake_waiter(const std::atomic<bool>* ready) noexcept override { sleepers_.wake_waiter(ready); }
  // Returns for every request that arrives while no thread waits; the service thread then carries it out in
  // progress().
  void wait_for_service() noexcept override { transport_.sleep(Sleeper::service); }
  void wake_service() noexcept override { transport_.wake(Sleeper::service); }

  // Applies to waits that begin afterwards. Any thread.
  void set_policy(WaitingPolicy policy) noexcept { sleepers_.set_policy(policy); }

  void begin_polling() noexcept override { sleepers_.attendance().begin_polling(); }
  void end_polling() noexcept override { sleepers_.attendance().end_polling(); }
  std::uint32_t bell_of(const std::atomic<bool>& ready) const noexcept override {
    return sleepers_.bell_of(ready);
  }
  void sleep(const std::atomic<bool>& ready, std::uint32_t seen) noexcept override {
    sleepers_.sleep(ready, seen);
  }
  int waiters_rope() const noexcept override { return transport_.rope(Sleeper::waiter); }
  int service_rope() const noexcept override { return transport_.rope(Sleeper::service); }

  std::byte* direct(Rank peer, RegionId region) noexcept override;
  bool watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept override;

 private:
  std::size_t places(Rank from, Lane lane, std::span<Place, places_max> places) noexcept override;
  void received(Rank from, Lane lane, std::size_t bytes) noexcept override;
  void writable(Rank peer, Lane lane) noexcept override;
  void lost(Rank peer, Loss loss) noexcept override;
  void has_moved(void* token) noexcept override { moves_.end(token); }

  Outcome send_to_self(MessageKind kind, Urgency urgency, std::span<const std::byte> body) noexcept;
  bool deliver_own() noexcept;
  enum class Caller : std::uint8_t { polls_again, may_leave };
  bool progress(Caller caller) noexcept;
  bool receive() noexcept;
  void refuse(Rank peer, const char* objection) noexcept;

  Transport& transport_;
  const Rank self_;
  trace::Counters& counters_;
  PeerWatcher* const watcher_;
  [[no_unique_address]] const Hooks hooks_;
  std::array<RegionView, region_count_max> regions_{};
  Procedures procedures_;
  Outbox outbox_;
  LinkMeter meter_;
  Answers answers_;
  Moves moves_;
  Server server_;
  Sleepers sleepers_;

  std::atomic<bool> receiving_{false};   // a try-only lock: one thread receives
  std::atomic<bool> look_again_{false};  // another thread found `receiving_` set

  EntryPool own_messages_;
  SpinLock own_lock_;
  EntryQueue own_waiting_ MUSUBI_GUARDED_BY(own_lock_);
};

}  // namespace musubi::fabric
