// PORT fabric: the promises of RDMA hardware, and calls of short procedures at the target.
//
// One-sided operations on registered regions of peers, and small messages. Aligned pieces of 2, 4 and 8 bytes
// are atomic; longer ones may be seen torn. Steps of one batch take effect in order, each complete before the
// next begins. Batches are unordered unless one is awaited before the next is posted. A rank may post to
// itself.
//
// No step uses a result of an earlier step of its batch: a driver may send all steps before the first result
// arrives. An operation that depends on words of the target is a call (calls.h); later steps may depend on
// its verdict and are otherwise skipped.
//
// Threads: any thread of the rank may call any function, unless a function says otherwise. A signal handler
// may call post(), send(), progress(), wait(), wake() and direct() if the interrupted thread was not in the
// fabric itself. A page fault of the program is such a handler, so a driver holds no lock there that the
// program's code could hold. These functions allocate nothing from the program's heap.
//
// Registered memory: regions are attached before the first operation and stay until the fabric ends. They may
// be sparse: untouched bytes read as zeros at every rank, and take memory at their owner when they are
// written. An owner may give pages back (punch them). Concurrent operations then see the old bytes or zeros,
// later ones see zeros, and none fails. A driver that pins memory must handle both, or say so when the region
// is attached.
//
// Local buffers: any memory of the process that stays mapped and accessible, registered or not, at any
// alignment (results of atomics: 8 bytes, aligned). Never the program's user view, whose pages may be
// inaccessible.
//
// Failure: a driver never reports a dead peer here. The bootstrap ends the job when a rank dies. Every driver
// passes tests/conformance/fabric.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/check.h"
#include "base/event.h"
#include "base/ids.h"
#include "fabric/calls.h"

namespace musubi::fabric {

enum class Verb : std::uint8_t {
  get,           // remote [offset, offset+bytes) -> local
  put,           // local -> remote
  compare_swap,  // *local = old value; remote = operand if old == compare. 8 bytes, aligned
  fetch_add,     // *local = old value; remote += operand
  swap,          // *local = old value; remote = operand
  call,          // the target carries out a procedure: see call()
};

struct Step {
  Verb verb;
  RegionId region;
  std::uint64_t offset;  // of a call: the procedure
  void* local;           // of a call: a CallEnd, 8 bytes aligned, and after it room for the result
  std::size_t bytes;     // of a call: the size of this room
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
  const void* arguments = nullptr;  // of a call; `operand` is their size in bytes
  // Unless no_verdict: the step is skipped if the last call before it in the batch had another verdict.
  Verdict after = no_verdict;
};

inline Step get(RegionId region, std::uint64_t offset, void* local, std::size_t bytes) {
  return Step{Verb::get, region, offset, local, bytes};
}
inline Step put(RegionId region, std::uint64_t offset, const void* local, std::size_t bytes) {
  return Step{Verb::put, region, offset, const_cast<void*>(local), bytes};
}
inline Step compare_swap(RegionId region, std::uint64_t offset, std::uint64_t* old, std::uint64_t compare,
                         std::uint64_t desired) {
  return Step{Verb::compare_swap, region, offset, old, 8, desired, compare};
}
inline Step fetch_add(RegionId region, std::uint64_t offset, std::uint64_t* old, std::uint64_t amount) {
  return Step{Verb::fetch_add, region, offset, old, 8, amount};
}
inline Step swap(RegionId region, std::uint64_t offset, std::uint64_t* old, std::uint64_t desired) {
  return Step{Verb::swap, region, offset, old, 8, desired};
}
// Calls the procedure at the target. `answer` receives its verdict and the size of the result, which follows
// `answer`; the rest of the room is unchanged. At most call_argument_bytes_max and call_result_bytes_max.
inline Step call(ProcedureId procedure, std::span<const std::byte> arguments, CallEnd& answer,
                 std::size_t room) {
  return Step{Verb::call, RegionId{}, procedure.value, &answer, room, arguments.size(), 0, arguments.data()};
}
template <class Arguments, class Result>
Step call(ProcedureId procedure, const Arguments& arguments, Answer<Result>& answer) {
  static_assert(std::is_trivially_copyable_v<Arguments> && std::is_trivially_copyable_v<Result>);
  static_assert(offsetof(Answer<Result>, result) == sizeof(CallEnd));
  return call(procedure, std::as_bytes(std::span(&arguments, 1)), answer.end, sizeof(Result));
}
// The step, skipped unless the last call before it in the batch has this verdict.
inline Step if_verdict(Verdict verdict, Step step) {
  step.after = verdict;
  return step;
}

enum class Outcome : std::uint8_t {
  done,     // complete: results are in place, puts are visible at the target
  pending,  // the completion will be set
  busy,     // the batch was not taken: make progress and retry
};

// How far away peers are.
struct Distance {
  std::uint64_t round_trip_ns = 0;
  std::uint64_t bits_per_second = 0;  // of each rank, in each direction; 0: unlimited
};

// The bandwidth-delay product of the link, in bytes. 0: no round trip.
constexpr std::uint32_t bandwidth_delay_bytes(Distance distance) noexcept {
  constexpr double bits_and_ns = 8e9;
  constexpr auto most = std::numeric_limits<std::uint32_t>::max();
  if (distance.round_trip_ns == 0) return 0;
  if (distance.bits_per_second == 0) return most;
  const double bytes = static_cast<double>(distance.round_trip_ns) *
                       static_cast<double>(distance.bits_per_second) / bits_and_ns;
  return static_cast<std::uint32_t>(std::min(bytes, double{most}));
}

// The capabilities between this rank and one peer; constant, except measured ones. `local_pointer` divides
// the ranks into groups, as hosts do: it is symmetric and transitive.
struct Capabilities {
  bool cpu_atomics_coherent = false;  // processor atomics on a region mix with fabric atomics on it
  bool local_pointer = false;         // direct() gives an address
  // Bandwidth-delay product of the link, in bytes. May change as it is measured; 0: unknown or negligible.
  std::uint32_t bandwidth_delay_bytes = 0;
};

// The purpose of a message. One listener per kind and rank. The runtime never sends `unassigned`, which is
// free for other users of a fabric.
enum class MessageKind : std::uint8_t {
  lock_granted,
  barrier,
  control,
  heap,
  call,
  request,
  collective,
  room,
  unassigned,
  count
};

// When a message is noticed. `when_polled`: the receiver polls by itself, since it waits for the message.
// `promptly`: wakes the receiver's service thread if no thread polls.
enum class Urgency : std::uint8_t { when_polled, promptly };

inline constexpr std::size_t message_bytes_max = 1984;
// The limit of drivers: a decorator may append a few bytes.
inline constexpr std::size_t driver_message_bytes_max = message_bytes_max + 16;

class Listener {
 public:
  // Called inside progress(), on the polling thread; one call at a time per rank, in order per sender. Must
  // not block or call progress(); may send (and must then handle busy). The body is untrusted: it comes from
  // another process. Result: null, or the objection to the body, a static text; then no part of it was used,
  // and a driver over a network accepts nothing more from that rank.
  virtual const char* on_message(Rank from, std::span<const std::byte> body) noexcept = 0;

  // For messages through memory of this host, where an objection is a broken invariant.
  void take(Rank from, std::span<const std::byte> body) noexcept {
    const char* const objection = on_message(from, body);
    MUSUBI_CHECK(objection == nullptr, "rank %u: %s", from.value, objection);
  }

 protected:
  ~Listener() = default;
};

// Memory that peers may access. `file` is the memfd of `base` (from `file_offset`), for drivers that map
// peers.
struct RegionMemory {
  RegionId id;
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  int file = -1;
  std::uint64_t file_offset = 0;
};

class Fabric {
 public:
  virtual ~Fabric() = default;

  virtual Rank self() const noexcept = 0;
  virtual std::uint32_t ranks() const noexcept = 0;
  virtual Capabilities capabilities(Rank peer) const noexcept = 0;

  // Posts the steps as one batch. Steps and their local buffers stay unchanged and alive until the batch is
  // complete. Any thread. Never blocks. Checks bounds (MUSUBI_CHECK). On `pending`, `completion` is set at
  // the end, possibly before post() returns.
  virtual Outcome post(Rank peer, std::span<const Step> steps, Event& completion) noexcept = 0;

  // Sends a small message (<= message_bytes_max); the body is copied. Result: done or busy. Any thread.
  virtual Outcome send(Rank peer, MessageKind kind, Urgency urgency,
                       std::span<const std::byte> body) noexcept = 0;

  // Before the first message can arrive. `listener` outlives the fabric's last progress().
  virtual void listen(MessageKind kind, Listener* listener) noexcept = 0;
  // Before the first call, on every rank. The procedure's data outlives the fabric's last operation.
  virtual void offer(ProcedureId id, Procedure procedure) noexcept = 0;

  // Delivers arrivals. Result: whether anything was done. Any thread.
  virtual bool progress() noexcept = 0;

  // Blocks until something may have arrived, wake() is called, or `ready` is true; spurious returns are
  // allowed. The caller has just found progress() idle. Spins, yields or sleeps by the driver's measured
  // policy.
  virtual void wait(const std::atomic<bool>& ready) noexcept = 0;
  // Makes every thread of this rank return from wait(). Any thread, signal-safe.
  virtual void wake() noexcept = 0;
  // Makes the thread that waits for `ready` return from wait(); other threads may return, too. Only the
  // address is used. Any thread, signal-safe.
  virtual void wake_waiter(const std::atomic<bool>* /*ready*/) noexcept { wake(); }
  // The service thread's sleep: returns when a `promptly` message arrived while no thread waited, or after
  // wake_service().
  virtual void wait_for_service() noexcept = 0;
  virtual void wake_service() noexcept = 0;

  // A hint: until end_polling() the calling thread polls, so arrivals need not wake the service thread. Any
  // thread; the calls pair up.
  virtual void begin_polling() noexcept {}
  virtual void end_polling() noexcept {}

  // The peer's region as an address of this process; null without local_pointer.
  virtual std::byte* direct(Rank peer, RegionId region) noexcept = 0;
  // Polls a word that peers change by processor atomics, until it differs from `unwanted` or this thread
  // should sleep by the driver's policy. Result: whether it differs. Any thread; delivers no messages.
  virtual bool watch(std::atomic_ref<std::uint64_t> word, std::uint64_t unwanted) noexcept = 0;
};

}  // namespace musubi::fabric
