// The destination of compiled checks: the runtime's engine implements it.
#pragma once

#include "base/address_range.h"

namespace musubi::checks {

// Calls come from any thread of the program, in the middle of any function, also inside malloc, a handler of
// signals or under a lock of the program. So: no malloc, no stdio, no lock that the program could hold, no
// exception. Blocking is allowed. All registers, vector state and errno are saved around the call. Ranges may
// name any memory, and be empty.
class CheckSink {
 public:
  virtual void before_reading(AddressRange range) noexcept = 0;
  virtual void before_writing(AddressRange range) noexcept = 0;
  // A store as MUSUBI_CHECKS_NOT_STORABLE allows it.
  virtual void before_storing(AddressRange range) noexcept = 0;
  virtual void before_overwriting(AddressRange range) noexcept = 0;
  virtual void after_writing(AddressRange range) noexcept = 0;
  // Ends the job: the program calls an entry that has no name.
  [[noreturn]] virtual void on_unknown_entry(unsigned entry) noexcept = 0;

 protected:
  ~CheckSink() = default;
};

}  // namespace musubi::checks
