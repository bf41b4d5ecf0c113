#include "fabric/shm/address.h"

#include <cstring>
#include <type_traits>

namespace musubi::fabric {

// Peers are processes of one host, started from one installation, so the memory image is the format.
static_assert(std::is_trivially_copyable_v<ShmAddress>);

std::string encode(const ShmAddress& address) {
  return std::string(reinterpret_cast<const char*>(&address), sizeof address);
}

Result<ShmAddress> decode_shm_address(std::string_view blob) {
  if (blob.size() != sizeof(ShmAddress)) {
    return Error{"a rank sent an address of " + std::to_string(blob.size()) + " bytes instead of " +
                 std::to_string(sizeof(ShmAddress)) +
                 "; start all ranks from the same installation of musubi"};
  }
  ShmAddress address;
  std::memcpy(&address, blob.data(), sizeof address);
  return address;
}

}  // namespace musubi::fabric
