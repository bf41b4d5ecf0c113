// Files that the runtime holds while the program runs: the program neither closes them nor passes them on,
// though it may try, for every number that there is.
#pragma once

namespace musubi::os {

// Notes that the runtime has opened, or no longer holds, this descriptor. FileDescriptor does so for its own.
// Any thread, signal-safe.
void note_own_file(int number, bool is_own) noexcept;
// Whether it is held. The same.
bool is_own_file(int number) noexcept;
// From here on sockets between ranks get no number below `first` while there is another. Before the program
// runs.
void keep_own_sockets_from(int first) noexcept;

}  // namespace musubi::os
