// The numbers of the remote calls that this layer serves.
#pragma once

#include "runtime/remote_calls.h"

namespace musubi::image::procedures {

inline constexpr runtime::ProcedureId file_mappings{16};
inline constexpr runtime::ProcedureId kept_mapping{17};

}  // namespace musubi::image::procedures
