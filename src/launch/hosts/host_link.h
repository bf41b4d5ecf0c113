// The launcher's connection to one host: the rsh process, the channel to the proxy behind it, and what is
// known of its ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launch/hosts/channel.h"
#include "launch/hosts/event_parcels.h"
#include "launch/hosts/host_list.h"
#include "launch/hosts/orders.h"
#include "launch/hosts/refusals.h"
#include "launch/hosts/rsh.h"

namespace musubi::launch {

enum class HostState {
  called,    // rsh was started
  ordered,   // the proxy is there, and knows what to do
  examined,  // it has said what the host has
  starting,  // it starts the ranks
  running,
  done,  // all of its ranks have ended in a way that it has told
  lost,  // or could not be used
};

struct HostLink {
  std::string name;
  RankRange ranks;
  std::vector<std::uint32_t> threads;  // of each of them
  std::uint16_t place = 0;             // those with equal ones share a host
  HostState state = HostState::called;
  RshProcess rsh;  // none, when another launcher has started the proxy
  Channel channel;
  std::uint32_t alive = 0;  // ranks whose ends were not told

  Refusal refusal;  // why it could not be used, before the start
  std::vector<Fact> facts;
  std::uint64_t called_ns = 0, answered_ns = 0;
  ClockAnswers clock;
  std::uint64_t clock_asked_ns = 0;                // 0: no question is open
  unsigned clock_questions = 0;                    // so far
  std::shared_ptr<const std::string> blobs;        // of its ranks, for the exchange under way
  std::string begun_output, begun_error;           // lines that nobody will end
  std::int64_t output_bytes = 0, error_bytes = 0;  // taken since this was told last
  std::string complaints;                          // the rsh process's stderr, its end
  std::optional<std::uint64_t> closed_ns;          // the channel has ended; the process will

  bool used() const { return state != HostState::lost && state != HostState::done; }
  bool is_called() const { return rsh.process_id > 0; }
  bool serves() const { return state == HostState::starting || state == HostState::running; }
};

// Reads what the rsh process, if there is one, has printed. Lines that begin as Musubi's own are given back,
// to be shown.
std::string read_complaints(HostLink& host);

// How the rsh process has ended, and its last words: "exit status 255: ssh: ...". Empty: it runs.
std::optional<std::string> rsh_ending(HostLink& host);

// Kills what runs of it here, and closes the channel; its proxy ends its ranks then.
void hang_up(HostLink& host);

}  // namespace musubi::launch
