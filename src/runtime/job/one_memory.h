// Whether all ranks of a job map one memory, which the processors keep coherent, and the file of that memory
// (docs/decisions/one_host.md).
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "bootstrap/bootstrap.h"
#include "config/settings.h"
#include "os/memory.h"
#include "runtime/api/runtime.h"

namespace musubi::runtime {

// Why a job with these settings needs separate memories that a protocol keeps coherent, on any hosts. Empty:
// it does not.
std::string_view reason_for_protocol(const config::Settings& settings);

// Depends on settings, hosts and the kind of program; the same on every rank. Errors: the setting coherence
// asks for one memory, which is impossible.
Result<bool> has_one_memory(const config::Settings& settings, bootstrap::Bootstrap& bootstrap,
                            const SharedFromStart& shared);

// Rank 0's memory file of `bytes` bytes, on every rank. Collective. Errors: no file descriptors left; the
// system forbids opening files of another process.
Result<os::FileDescriptor> open_one_memory(bootstrap::Bootstrap& bootstrap, std::size_t bytes);

}  // namespace musubi::runtime
