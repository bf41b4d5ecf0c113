// What launcher and proxies say to each other, over the standard input and output of the proxy.
#pragma once

#include <cstdint>
#include <string>

namespace musubi::launch {

enum class MessageKind : std::uint32_t {
  // Before the ranks run. Launcher: order, start. Proxy: hello, facts, started; refused instead of any.
  hello = 1,  // body: Greeting
  order,      // body: JobOrder
  facts,      // body: Facts of the host
  start,
  started,
  refused,  // body: the reason
  // Proxy, of its ranks.
  joined,        // number: rank
  finished,      // number: rank << 32 | status
  ended,         // body: Endings
  crashed,       // body: lines
  output,        // body: whole lines of stdout
  output_begun,  // a line that nobody will end
  error,         // the same of stderr
  error_begun,
  events,       // number: rank; body: a parcel of events (event_parcels.h), when the rank has ended
  told_to_end,  // number: the signal that another launcher has sent to the proxy
  goodbye,      // all ranks have ended, and all that they printed has been sent
  // Both: in one direction the blobs of the proxy's ranks, in the other those of all.
  gathered,
  clock,  // launcher: a question; proxy: its answer, number: nanoseconds of its host's clock
  alive,  // number: milliseconds until the next word is to be expected at the latest; 0: for ever
  // Launcher.
  output_taken,  // number: bytes of output, which may be followed by as many
  error_taken,
  output_closed,  // nobody reads the output any more
  error_closed,
  signal_all,        // number: the signal
  signal_rank_zero,  // to the proxy that has it
  no_prompt,         // the job is ending
  welcome_others,    // rank 0 has joined
  // Standard input of rank 0.
  input,         // launcher; body: bytes
  input_end,     // launcher
  input_taken,   // proxy; number: bytes
  input_closed,  // proxy: rank 0 reads no more
  // What threads wait for.
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

}  // namespace musubi::launch
