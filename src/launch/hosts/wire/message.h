// The messages between launcher and proxies, over the standard input and output of a proxy.
#pragma once

#include <cstdint>
#include <string>

namespace musubi::launch {

enum class MessageKind : std::uint32_t {
  // Before the ranks run. Launcher: order, start. Proxy: hello, facts, started, or refused instead of any of
  // these.
  hello = 1,  // body: Greeting
  order,      // body: JobOrder
  facts,      // body: Facts of the host
  start,
  started,
  refused,  // body: the reason
  // Proxy, about its ranks.
  joined,        // number: rank
  finished,      // number: rank << 32 | status
  ended,         // body: Endings
  crashed,       // body: lines
  output,        // body: whole lines of stdout
  output_begun,  // a line that will not be completed
  error,         // the same of stderr
  error_begun,
  events,       // number: rank; body: a parcel of events (event_parcels.h), after the rank has ended
  told_to_end,  // number: the signal that another launcher has sent to the proxy
  goodbye,      // all ranks have ended, and all their output has been sent
  // Both: from the proxy the blobs of its ranks, from the launcher those of all ranks.
  gathered,
  clock,  // launcher: a question; proxy: the answer, number: time of its host in ns
  alive,  // number: milliseconds until the next message at the latest; 0: unlimited
  // Launcher.
  output_taken,  // number: acknowledged bytes of output
  error_taken,
  output_closed,  // the output has no reader
  error_closed,
  signal_all,        // number: the signal
  signal_rank_zero,  // to the proxy of rank 0
  no_prompt,         // the job is ending
  welcome_others,    // rank 0 has joined
  // Standard input of rank 0.
  input,         // launcher; body: bytes
  input_end,     // launcher
  input_taken,   // proxy; number: bytes
  input_closed,  // proxy: rank 0 reads no more
  // Waits of threads.
  look,      // launcher
  seen,      // proxy; body: states of its ranks
  report,    // launcher; body: states of all ranks
  reported,  // proxy; body: lines on its own ranks
};

struct Message {
  MessageKind kind = MessageKind::alive;
  std::int64_t number = 0;
  std::string body;
};

// The largest body of each kind of message: a longer one is damaged.
constexpr std::uint64_t body_bytes_max(MessageKind kind) {
  constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
  switch (kind) {
    case MessageKind::hello:
      return 4 * KiB;
    case MessageKind::input:
      return 64 * KiB;
    // One exchange of all ranks' blobs; a ring of events.
    case MessageKind::gathered:
    case MessageKind::events:
      return 5 * GiB;
    // Arguments and environment; lines (output_relay.h); data of each rank.
    case MessageKind::order:
    case MessageKind::facts:
    case MessageKind::refused:
    case MessageKind::ended:
    case MessageKind::crashed:
    case MessageKind::output:
    case MessageKind::output_begun:
    case MessageKind::error:
    case MessageKind::error_begun:
    case MessageKind::seen:
    case MessageKind::report:
    case MessageKind::reported:
      return 64 * MiB;
    default:
      return 0;
  }
}

}  // namespace musubi::launch
