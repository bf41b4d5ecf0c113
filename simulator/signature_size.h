// Counts the notices of a signature.
#pragma once

#include <cstddef>

#include "coherence/protocol.h"

namespace musubi::sim {

class SignatureSize final : public coherence::SignatureSink {
 public:
  void take(coherence::SignatureView signature) noexcept override { notices = signature.notices.size(); }
  std::size_t notices = 0;
};

}  // namespace musubi::sim
