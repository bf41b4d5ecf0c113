// Functions that return static memory of the C library, which is private to each rank: the program gets the
// result in shared memory, one buffer per function and rank, which the rank's next call reuses.
#include <arpa/inet.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <shadow.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "heap/heap.h"
#include "image/start/job.h"
#include "image/symbols/exported.h"

namespace {

using musubi::heap::process_heap;
using musubi::image::Next;

bool shares_results() {
  return musubi::image::job_of_ranks() != nullptr;
}

// The buffer of one function. Concurrent callers must synchronise, as they must natively.
class ResultBuffer {
 public:
  // Null: out of memory. Buffers returned earlier stay valid.
  char* of(std::size_t bytes) {
    if (bytes > bytes_) {
      bytes_ = std::max(2 * bytes, bytes_min);
      memory_ = static_cast<char*>(process_heap.allocate_shared(bytes_));
      if (memory_ == nullptr) bytes_ = 0;
    }
    return memory_;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t bytes_min = 256;

  char* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

char* kept_text(ResultBuffer& buffer, const char* text) {
  if (text == nullptr || !shares_results()) return const_cast<char*>(text);
  const std::size_t bytes = std::strlen(text) + 1;
  char* const kept = buffer.of(bytes);
  return kept == nullptr ? nullptr : static_cast<char*>(std::memcpy(kept, text, bytes));
}

// An entry with its texts, filled by a reentrant (_r) function.
template <class Entry, class Find>
Entry* kept_entry(ResultBuffer& buffer, Find find) {
  constexpr std::size_t first_bytes = 1024;
  std::size_t bytes = std::max(buffer.bytes(), sizeof(Entry) + first_bytes);
  while (true) {
    char* const memory = buffer.of(bytes);
    if (memory == nullptr) return nullptr;
    Entry* found = nullptr;
    const int error =
        find(reinterpret_cast<Entry*>(memory), memory + sizeof(Entry), bytes - sizeof(Entry), &found);
    if (error == 0) return found;
    if (error != ERANGE) {
      errno = error;
      return nullptr;
    }
    bytes *= 2;
  }
}

}  // namespace

#define MUSUBI_TEXT(name, parameters, arguments)           \
  MUSUBI_WRAPPER(char*, name, parameters) {                \
    static constinit Next<char*(*)parameters> next(#name); \
    static ResultBuffer buffer;                            \
    return kept_text(buffer, next.get() arguments);        \
  }
MUSUBI_TEXT(asctime, (const tm* parts), (parts))
MUSUBI_TEXT(ctime, (const time_t* moment), (moment))
MUSUBI_TEXT(ecvt, (double value, int digits, int* point, int* sign), (value, digits, point, sign))
MUSUBI_TEXT(fcvt, (double value, int digits, int* point, int* sign), (value, digits, point, sign))
MUSUBI_TEXT(qecvt, (long double value, int digits, int* point, int* sign), (value, digits, point, sign))
MUSUBI_TEXT(qfcvt, (long double value, int digits, int* point, int* sign), (value, digits, point, sign))
MUSUBI_TEXT(ether_ntoa, (const ether_addr* address), (address))
MUSUBI_TEXT(getlogin, (), ())
MUSUBI_TEXT(inet_ntoa, (in_addr address), (address))
MUSUBI_TEXT(l64a, (long value), (value))

namespace {

tm* kept_parts(const tm* parts) {
  static ResultBuffer buffer;
  if (parts == nullptr || !shares_results()) return const_cast<tm*>(parts);
  char* const kept = buffer.of(sizeof *parts);
  return kept == nullptr ? nullptr : static_cast<tm*>(std::memcpy(kept, parts, sizeof *parts));
}

}  // namespace

MUSUBI_WRAPPER(tm*, gmtime, (const time_t* moment)) {
  static constinit Next<tm* (*)(const time_t*)> next("gmtime");
  return kept_parts(next.get()(moment));
}
MUSUBI_WRAPPER(tm*, localtime, (const time_t* moment)) {
  static constinit Next<tm* (*)(const time_t*)> next("localtime");
  return kept_parts(next.get()(moment));
}

MUSUBI_WRAPPER(char*, ttyname, (int file)) {
  constexpr std::size_t name_bytes_max = 4096;
  static constinit Next<char* (*)(int)> next("ttyname");
  static ResultBuffer buffer;
  if (!shares_results()) return next.get()(file);
  char* const name = buffer.of(name_bytes_max);
  const int error = name == nullptr ? ENOMEM : ::ttyname_r(file, name, name_bytes_max);
  if (error != 0) errno = error;
  return error == 0 ? name : nullptr;
}

#define MUSUBI_ENTRY(Entry, name, parameters, ...)                                                      \
  MUSUBI_WRAPPER(Entry*, name, parameters) {                                                            \
    static constinit Next<Entry*(*)parameters> next(#name);                                             \
    static ResultBuffer buffer;                                                                         \
    if (!shares_results()) return next.get()(__VA_ARGS__);                                              \
    return kept_entry<Entry>(buffer, [&](Entry* entry, char* texts, std::size_t bytes, Entry** found) { \
      return ::name##_r(__VA_ARGS__, entry, texts, bytes, found);                                       \
    });                                                                                                 \
  }
MUSUBI_ENTRY(passwd, getpwnam, (const char* name), name)
MUSUBI_ENTRY(passwd, getpwuid, (uid_t user), user)
MUSUBI_ENTRY(group, getgrnam, (const char* name), name)
MUSUBI_ENTRY(group, getgrgid, (gid_t number), number)
MUSUBI_ENTRY(spwd, getspnam, (const char* name), name)
MUSUBI_ENTRY(protoent, getprotobyname, (const char* name), name)
MUSUBI_ENTRY(protoent, getprotobynumber, (int number), number)
MUSUBI_ENTRY(servent, getservbyname, (const char* name, const char* protocol), name, protocol)
MUSUBI_ENTRY(servent, getservbyport, (int port, const char* protocol), port, protocol)

#define MUSUBI_HOST(name, parameters, ...)                                                             \
  MUSUBI_WRAPPER(hostent*, name, parameters) {                                                         \
    static constinit Next<hostent*(*)parameters> next(#name);                                          \
    static ResultBuffer buffer;                                                                        \
    if (!shares_results()) return next.get()(__VA_ARGS__);                                             \
    return kept_entry<hostent>(buffer,                                                                 \
                               [&](hostent* entry, char* texts, std::size_t bytes, hostent** found) {  \
                                 return ::name##_r(__VA_ARGS__, entry, texts, bytes, found, &h_errno); \
                               });                                                                     \
  }
MUSUBI_HOST(gethostbyname, (const char* name), name)
MUSUBI_HOST(gethostbyname2, (const char* name, int family), name, family)
MUSUBI_HOST(gethostbyaddr, (const void* address, socklen_t length, int family), address, length, family)
