// futex(2) by number, as the inline parts of C++'s std::atomic, latches and barriers call it, on a word of
// memory that the ranks share. The kernel would look at this rank's copy of it, and wake threads of this
// process only.
#pragma once

namespace musubi::image {

// `given`: the arguments of the call. Result: whether the word is shared; then the call is done, and `result`
// and errno are as syscall(2) has them. Blocks as the call says. Program threads.
bool does_shared_futex(const long* given, long& result) noexcept;

}  // namespace musubi::image
