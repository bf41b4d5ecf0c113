// Numbers of the procedures that this layer serves for other ranks (runtime/api/remote_calls.h).
#pragma once

#include "runtime/api/remote_calls.h"

namespace musubi::image::procedures {

inline constexpr runtime::ProcedureId thread_placement{11};  // OpenMP has 12 to 15
inline constexpr runtime::ProcedureId descriptors{16};
inline constexpr runtime::ProcedureId streams{17};
inline constexpr runtime::ProcedureId attributes{18};
inline constexpr runtime::ProcedureId processor_times{19};
inline constexpr runtime::ProcedureId library_loads{20};
inline constexpr runtime::ProcedureId file_mappings{21};
inline constexpr runtime::ProcedureId kept_mapping{22};
inline constexpr runtime::ProcedureId signals{23};
inline constexpr runtime::ProcedureId timers{24};
inline constexpr runtime::ProcedureId children{25};
inline constexpr runtime::ProcedureId thread_keys{26};
inline constexpr runtime::ProcedureId far_calls{27};
inline constexpr runtime::ProcedureId threads{28};
inline constexpr runtime::ProcedureId named_semaphores{29};
inline constexpr runtime::ProcedureId exit_handlers{30};
inline constexpr runtime::ProcedureId locales{31};

}  // namespace musubi::image::procedures
