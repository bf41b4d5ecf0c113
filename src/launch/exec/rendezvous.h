// The ranks of another launcher meet by its key-value exchange: they learn which ranks share a host, and the
// address of rank 0, whose process leads the job.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "launch/pmi/key_values.h"
#include "os/memory.h"
#include "os/tcp.h"

namespace musubi::launch {

// Of every rank: tells whether it shares a host with another rank.
struct HostProof {
  std::string host;    // its name, for messages
  std::string kernel;  // boot id and PID namespace, within which `process` is valid
  pid_t process = 0;   // which has `file` open
  int file = -1;       // a memory file with the bytes of `mark`
  std::string mark;    // in hexadecimal
  bool operator==(const HostProof&) const = default;
};

// Of rank 0: where its process listens.
struct LeaderAddress {
  int refused_status = 0;  // not 0: the job does not start, as was reported; all ranks exit so
  std::string secret;      // of the job; bytes
  std::vector<os::SocketAddress> addresses;
  std::uint16_t port = 0;  // on rank 0's host itself; 0: at `addresses` only
};

// Texts for the exchange.
std::string format(const HostProof& card);
std::string format(const LeaderAddress& door);
// Errors: the text is malformed.
Result<HostProof> parse_host_proof(std::string_view text);
Result<LeaderAddress> parse_leader_address(std::string_view text);

// A memory file with a mark, and the card that refers to it. Keep the file until all ranks have read it.
struct HostMark {
  os::FileDescriptor file;
  HostProof card;
};
// Errors: the kernel provides no memory file or no random bytes.
Result<HostMark> make_host_mark();
// Whether the process of this card shares host and files with this one, found by trying.
bool shares_host(const HostProof& own, const HostProof& other);

// The data that rank 0 contributes.
struct Lead {
  int refused_status = 0;    // as in LeaderAddress
  std::string_view network;  // as in os::addresses_of_network; empty: all
  os::PortRange ports;
};

struct Rendezvous {
  std::uint32_t rank = 0, ranks = 1;
  std::vector<HostProof> cards;       // by rank; on ranks other than 0 only those of lower ranks
  std::vector<std::uint16_t> places;  // by rank: equal ones share a host. On rank 0 only
  int refused_status = 0;
  std::string secret;                        // of the job
  os::FileDescriptor listening;              // of rank 0
  std::vector<os::SocketAddress> addresses;  // of rank 0, for this rank
};

// Collective; leaves the exchange at the end. `lead` is used on rank 0. Errors: those of the exchange; no
// port or no such network; ranks of different versions.
Result<Rendezvous> meet(KeyValues& launcher, const Lead& lead);

}  // namespace musubi::launch
