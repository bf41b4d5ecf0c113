// What kind of instruction a thread was at. The one place that knows the processor's encoding; decoders of
// whole programs are in src/atomics.
#pragma once

namespace musubi::os {

// Whether the instruction at `code` computes with floating-point numbers or vectors, or copies a string: no
// thread looks at a flag by it. REQUIRES: the processor has fetched the whole instruction. Reads no byte
// beyond it. Any thread, also inside a signal handler.
bool moves_numbers(const unsigned char* code) noexcept;

}  // namespace musubi::os
