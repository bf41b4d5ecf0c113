// The regions in which a rank's shared state lies, and the procedures that work on them for other ranks.
#pragma once

#include "fabric/fabric.h"

namespace musubi::coherence {

// Region numbers of the job. words: BlockWords per block. published: the public copies, private: the live
// bytes, both laid out by Space offsets. control: signatures, barriers, locks, team words
// (sync/control_layout.h). updates: the memory of the policy `entry` (entry/layout.h);
// runtime/api/global_memory.h has a region of its own in between.
inline constexpr fabric::RegionId words_region{0};
inline constexpr fabric::RegionId published_region{1};
inline constexpr fabric::RegionId control_region{2};
inline constexpr fabric::RegionId private_region{3};
inline constexpr fabric::RegionId updates_region{5};

// Procedure numbers of the job (fabric/calls.h), but for those of remote_lock.
inline constexpr fabric::ProcedureId look_procedure{1};
inline constexpr fabric::ProcedureId operation_procedure{2};
inline constexpr fabric::ProcedureId merge_procedure{3};
inline constexpr fabric::ProcedureId signature_procedure{4};
inline constexpr fabric::ProcedureId copy_procedure{5};
inline constexpr fabric::ProcedureId overwrite_procedure{6};
inline constexpr fabric::ProcedureId thread_barrier_procedure{7};  // sync/thread_barriers.h
inline constexpr fabric::ProcedureId packet_procedure{9};          // home_based/packets.h

}  // namespace musubi::coherence
