// Starts the proxy of a host by a command such as ssh, which gets the host and one command line.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
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

}  // namespace musubi::launch
