// The launcher's connection to one host: the rsh process, a command such as ssh, which gets the host and one
// command line; the channel to the proxy that it starts; and the state of its ranks.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "launch/hosts/launcher/hosts_plan.h"
#include "launch/hosts/launcher/refusals.h"
#include "launch/hosts/wire/channel.h"
#include "launch/hosts/wire/event_parcels.h"
#include "launch/hosts/wire/orders.h"
#include "launch/local/rank_process.h"
#include "os/memory.h"

namespace musubi::launch {

// `text` as one word for a shell.
std::string quoted_for_shell(const std::string& text);

// The command line for the other host's shell.
std::string proxy_command(const std::string& musubi_path);

// The rsh command as a line for this host's shell; "$@" is the host and the command line. Adds options to ssh
// that keep it from asking questions on a terminal.
std::string rsh_line(const std::string& rsh);

struct RshProcess {
  pid_t process_id = -1;
  os::FileDescriptor process;  // pidfd
  os::FileDescriptor to_proxy, from_proxy;
  os::FileDescriptor errors;  // stderr, non-blocking
};

// Starts the proxy on `host`. The local processes leave the launcher's terminal and process group, and die
// with the launcher. Empty `rsh`: starts the proxy on this host. Errors: out of processes or files.
Result<RshProcess> start_rsh(const std::string& rsh, const std::string& host, const std::string& musubi_path,
                             const InheritedState& inherited);

// Sends the signal to the process and to its descendants in its process group.
void signal_rsh(const RshProcess& process, int number);

enum class HostState {
  called,    // rsh was started
  ordered,   // the proxy runs, and has its order
  examined,  // it has sent the facts of the host
  starting,  // the ranks are being started
  running,
  done,  // it has reported the ends of all its ranks
  lost,  // it is lost, or could not be used
};

struct HostLink {
  std::string name;
  RankRange ranks;
  std::vector<std::uint32_t> threads;  // by rank of this host
  std::uint16_t place = 0;             // equal ones share a host
  HostState state = HostState::called;
  RshProcess rsh;  // none if another launcher has started the proxy
  Channel channel;
  std::uint32_t alive = 0;  // ranks whose ends were not reported

  Refusal refusal;  // why it could not be used, before the start
  std::vector<Fact> facts;
  std::uint64_t called_ns = 0, answered_ns = 0;
  ClockAnswers clock;
  std::uint64_t clock_asked_ns = 0;                // 0: no open question
  unsigned clock_questions = 0;                    // so far
  std::shared_ptr<const std::string> blobs;        // of its ranks, for the exchange under way
  std::string begun_output, begun_error;           // lines that will not be completed
  std::int64_t output_bytes = 0, error_bytes = 0;  // received since the last acknowledgement
  std::string complaints;                          // the end of the rsh process's stderr
  std::optional<std::uint64_t> closed_ns;          // when the channel ended; the rsh process ends soon

  bool used() const { return state != HostState::lost && state != HostState::done; }
  bool is_called() const { return rsh.process_id > 0; }
  bool serves() const { return state == HostState::starting || state == HostState::running; }
};

// Reads the output of the rsh process, if there is one. Result: lines of Musubi itself, to be shown.
std::string read_complaints(HostLink& host);

// How the rsh process has ended, and its last lines: "exit status 255: ssh: ...". Empty: it runs.
std::optional<std::string> rsh_ending(HostLink& host);

// Kills the local process and closes the channel; the proxy then ends its ranks.
void hang_up(HostLink& host);

}  // namespace musubi::launch
