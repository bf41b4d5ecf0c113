// What the ranks of another launcher tell each other before they can talk: texts that its key-value exchange
// carries.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/memory.h"
#include "os/tcp.h"

namespace musubi::launch {

// Of every rank: how to find out whether it shares a host with another one.
struct Card {
  std::string host;    // its name, for messages
  std::string kernel;  // boot and namespace of processes: elsewhere its process id means nothing
  pid_t process = 0;   // which holds
  int file = -1;       // a memory file that begins with
  std::string mark;    // these bytes, in hexadecimal
  bool operator==(const Card&) const = default;
};

// Of rank 0: where the launcher's part of it can be reached.
struct Door {
  int refused_status = 0;  // the job does not start, which was said; everybody ends with it
  std::string secret;      // of the job; bytes
  std::vector<os::SocketAddress> addresses;
  std::uint16_t port = 0;  // on the host itself; 0: at its addresses only
};

std::string format(const Card& card);
std::string format(const Door& door);
// Errors: the text is not of this form.
Result<Card> parse_card(std::string_view text);
Result<Door> parse_door(std::string_view text);

// A memory file with a mark, and the card that tells of it. Keep the file until all have looked.
struct Mark {
  os::FileDescriptor file;
  Card card;
};
// Errors: the kernel gives no memory file or no random bytes.
Result<Mark> make_mark();
// Whether the process of this card shares host and files with this one, by trying.
bool shares_host(const Card& own, const Card& other);

}  // namespace musubi::launch
