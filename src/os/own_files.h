// Descriptors that the runtime holds while the program runs: the program can neither close them nor pass them
// on, even if it tries every number.
#pragma once

namespace musubi::os {

// Registers that the runtime has opened, or no longer holds, this descriptor. FileDescriptor registers its
// own. Any thread, signal-safe.
void note_own_file(int number, bool is_own) noexcept;
// Any thread, signal-safe.
bool is_own_file(int number) noexcept;
// From now on sockets between ranks get numbers of at least `first`, if one is free. Called before the
// program runs.
void keep_own_sockets_from(int first) noexcept;

}  // namespace musubi::os
