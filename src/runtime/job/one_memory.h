// Whether all ranks of a job map one memory, which the processors keep coherent, and that memory
// (docs/decisions/one_memory.md).
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "bootstrap/bootstrap.h"
#include "config/settings.h"
#include "os/memory.h"
#include "runtime/api/runtime.h"

namespace musubi::runtime {

// Why a job with these settings needs memories that a protocol keeps equal, wherever its ranks are. Empty: it
// does not.
std::string_view reason_for_protocol(const config::Settings& settings);

// By settings, hosts and kind of program: the same at every rank. Errors: the setting coherence asks for one
// memory and that cannot be.
Result<bool> has_one_memory(const config::Settings& settings, bootstrap::Bootstrap& bootstrap,
                            const SharedFromStart& shared);

// Rank 0's memory file of `bytes`, at every rank. Collective. Errors: no file descriptors left; the system
// forbids to open files of another process.
Result<os::FileDescriptor> open_one_memory(bootstrap::Bootstrap& bootstrap, std::size_t bytes);

}  // namespace musubi::runtime
