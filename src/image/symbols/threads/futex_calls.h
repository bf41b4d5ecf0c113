// futex(2) by number, as the inline parts of C++'s std::atomic, latches and barriers call it, on a word in
// shared memory. The kernel would compare this rank's copy, and wake threads of this process only.
#pragma once

namespace musubi::image {

// `given`: the arguments of the call. Result: whether the word is shared; then the call is done, and `result`
// and errno are as syscall(2) returns them. Blocks as the call does. Program threads.
bool does_shared_futex(const long* given, long& result) noexcept;

}  // namespace musubi::image
