// Sockets that the runtime opens while the program runs: the program neither closes them nor passes them on,
// though it may try, for every number that there is.
#pragma once

namespace musubi::os {

// Whether accept_next() or begin_connecting() made this descriptor. Any thread, signal-safe.
bool is_own_socket(int number) noexcept;
// From here on these get no number below `first` while there is another. Before the program runs.
void keep_own_sockets_from(int first) noexcept;

}  // namespace musubi::os
