#include "image/start/patched_atomics.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "atomics/patch.h"
#include "atomics/scan_cache.h"
#include "atomics/site.h"
#include "image/libraries/loaded_objects.h"
#include "image/process/refusal.h"
#include "omp/open_singles.h"
#include "omp/thread.h"
#include "os/signal_frame.h"
#include "runtime/api/own_build.h"
#include "runtime/threads/waiting.h"
#include "vm/signal/fault_handler.h"

namespace musubi::image {
namespace {

// For a process of one thread.
AtomicValue execute_alone(std::uintptr_t address, const AtomicOperation& operation) {
  AtomicValue old = 0;
  std::memcpy(&old, reinterpret_cast<void*>(address), operation.bytes);
  const AtomicValue changed = apply(operation, old);
  if (changed != old) std::memcpy(reinterpret_cast<void*>(address), &changed, operation.bytes);
  return old;
}

class RuntimeSink final : public atomics::AtomicSink {
 public:
  explicit RuntimeSink(runtime::Runtime& runtime) : runtime_(runtime) {}

  // Registers saved by the entry are below `stack_low` and differ each time: a release would compare them.
  void at(std::uintptr_t next_instruction, std::uintptr_t stack_low) noexcept override {
    runtime::note_call(reinterpret_cast<const void*>(next_instruction));
    if (!is_child_of_rank()) omp::note_stack(reinterpret_cast<const void*>(stack_low));
  }
  AtomicValue execute(std::uintptr_t address, const AtomicOperation& operation) noexcept override {
    if (is_child_of_rank()) return execute_alone(address, operation);
    omp::settle_singles(omp::Before::atomic);
    return runtime_.synchronization().atomic(address, operation);
  }
  void fence() noexcept override {
    if (is_child_of_rank()) return;
    runtime_.synchronization().flush();
  }

 private:
  runtime::Runtime& runtime_;
};

// Serves breakpoints that replace atomics, also if the program handles SIGTRAP itself.
class TrapOwner final : public vm::SignalOwner {
 public:
  vm::SignalVerdict on_signal(int, const siginfo_t& information, ucontext_t& context) noexcept override {
    const bool ours = atomics::serve_trap(information, context);
    return {ours ? vm::SignalVerdict::Kind::resolved : vm::SignalVerdict::Kind::foreign};
  }
};

// Serves an atomic in the handler of its fault; the interrupted code's stack is in use down to `stack_low`.
class FaultSink final : public atomics::AtomicSink {
 public:
  FaultSink(runtime::Runtime& runtime, std::uintptr_t stack_low) : runtime_(runtime), stack_low_(stack_low) {}

  AtomicValue execute(std::uintptr_t address, const AtomicOperation& operation) noexcept override {
    omp::note_stack(reinterpret_cast<const void*>(stack_low_));
    omp::settle_singles(omp::Before::atomic);
    return runtime_.synchronization().atomic(address, operation);
  }
  void fence() noexcept override {}  // a fence does not fault

 private:
  runtime::Runtime& runtime_;
  std::uintptr_t stack_low_;
};

AddressRange own_code() {
  const auto here = reinterpret_cast<std::uintptr_t>(&own_code);
  for (const LoadedObject& object : loaded_objects()) {
    if (object.range.contains(here)) return object.range;
  }
  return {};
}

// Serves atomics that were not patched, in generated code or a library, when they fault, before the fault
// would open the page for them.
class MissedAtomics final : public vm::SignalOwner {
 public:
  MissedAtomics(runtime::Runtime& runtime, const atomics::SharedRanges& ranges)
      : runtime_(runtime), ranges_(ranges), own_code_(own_code()) {}

  vm::SignalVerdict on_signal(int, const siginfo_t& information, ucontext_t& context) noexcept override {
    constexpr std::uintptr_t red_zone_bytes = 128;
    if (is_child_of_rank()) return {};
    const os::FaultContext fault = os::fault_context(context);
    // Our own atomics touch a page to open it.
    const bool candidate = information.si_code > 0 && fault.access == os::FaultAccess::write &&
                           ranges_.contains(reinterpret_cast<std::uintptr_t>(information.si_addr)) &&
                           !own_code_.contains(fault.program_counter);
    if (!candidate) return {};
    FaultSink sink(runtime_, fault.stack_pointer - red_zone_bytes);
    if (!atomics::emulate_at_fault(&context, ranges_, sink)) return {};
    runtime_.counters().add(trace::Counter::missed_atomics);
    return {vm::SignalVerdict::Kind::resolved};
  }

 private:
  runtime::Runtime& runtime_;
  const atomics::SharedRanges ranges_;
  const AddressRange own_code_;
};

// These objects are never freed, because signal handlers use them.
void serve_signals(runtime::Runtime& runtime, const atomics::SharedRanges& ranges) {
  vm::FaultHandler& handler = *vm::FaultHandler::installed();
  auto& missed = *new MissedAtomics(runtime, ranges);
  for (const int signal : {SIGSEGV, SIGBUS}) {
    handler.add_owner(signal, missed, vm::FaultHandler::Turn::before_others);
  }
  handler.add_owner(SIGTRAP, *new TrapOwner);
}

// Patched code compares with the ranges known at patch time, and asks `holds` about the rest: memory between
// the data of libraries is not shared, and libraries may be loaded later.
Result<atomics::SharedRanges> shared_ranges(const runtime::Runtime& runtime) {
  const runtime::Layout& layout = runtime.memory().layout();
  const std::size_t ranks = runtime.ranks();
  std::vector<atomics::AddressInterval> ranges{
      {layout.heap_base, layout.heap_base + ranks * layout.heap_bytes_per_rank},
      {layout.stacks_base,
       layout.stacks_base + ranks * layout.stack_slots_per_rank * layout.stack_slot_bytes},
      {layout.late_libraries_base, layout.late_libraries_base + layout.late_libraries_bytes},
      {layout.libraries_base, layout.libraries_base + layout.libraries_bytes}};
  for (const runtime::SharedRange& range : find_program_globals().shared) {
    ranges.push_back({range.address, range.address + range.bytes});
  }
  return atomics::SharedRanges::make(
      ranges, [](std::uintptr_t address) { return runtime::current_runtime()->memory().is_shared(address); });
}

std::string path_of(const link_map& object) {
  return object.l_name[0] == '\0' ? "/proc/self/exe" : object.l_name;
}

Result<std::vector<atomics::CodeRange>> code_of(const link_map& object) {
  Result<std::vector<atomics::CodeRange>> code = std::vector<atomics::CodeRange>{};
  visit_object(object,
               [&](const dl_phdr_info& info) { code = atomics::code_of_object(info, path_of(object)); });
  return code;
}

atomics::ScanCache scan_cache(const runtime::Runtime& runtime) {
  const std::string& folder = runtime.settings().scan_cache;
  return {folder == "auto" ? atomics::ScanCache::usual_folder() : folder, runtime::own_build()};
}

Result<atomics::ObjectScan> scan_object(runtime::Runtime& runtime, const link_map& object) {
  auto code = code_of(object);
  if (!code) return code.error();
  std::string identity;
  visit_object(object,
               [&](const dl_phdr_info& info) { identity = atomics::identity_of(info, path_of(object)); });
  const atomics::ScanCache kept = scan_cache(runtime);
  if (auto found = kept.find(identity, code.value())) return std::move(*found);
  const auto functions = [&] { return atomics::functions_of(path_of(object), object.l_addr); };
  atomics::ObjectScan result{atomics::find_sites(code.value(), functions), false};
  atomics::mark_relaxed(result.scan, path_of(object), object.l_addr);
  for (const atomics::CodeRange& range : code.value()) {
    runtime.counters().add(trace::Counter::scanned_bytes, range.bytes);
    const void* const begin = reinterpret_cast<const void*>(range.begin);
    result.has_spin_loops =
        result.has_spin_loops || atomics::has_spin_loops(begin, range.bytes, range.begin, functions);
  }
  kept.keep(identity, code.value(), result);
  return result;
}

// A message, because such a program would silently be wrong.
void tell_undecided(const Job& job, const atomics::Scan& scan, const link_map& object) {
  if (scan.undecided == 0 || !job.is_first_rank()) return;
  report_refused_call(std::to_string(scan.undecided) + " places in " + path_of(object) +
                          " look like atomic operations near data, and are left as they are: if they are "
                          "code, they lose counts",
                      "keep symbols or unwind tables in that file, which tell code from data");
}

// A fence of libatomic ends a store of 16 bytes. A program that links the library but never makes such a
// store does not need order; a program that does starts to keep order at its first one.
bool fences_are_calls(const link_map& object) {
  const std::string_view path = object.l_name;
  return path.substr(path.rfind('/') + 1).starts_with("libatomic.so");
}

bool imports_waits(const link_map& object) {
  bool waits = false;
  visit_object(object,
               [&](const dl_phdr_info& info) { waits = imports_any(info, atomics::functions_of_waits); });
  return waits;
}

Result<void> patch_all(Job& job) {
  auto ranges = shared_ranges(job.runtime);
  if (!ranges) return ranges.error();
  // Patched code refers to the sink until the process ends.
  auto& sink = *new RuntimeSink(job.runtime);
  if (const auto attached = atomics::attach(sink, ranges.value()); !attached) return attached.error();
  serve_signals(job.runtime, ranges.value());
  bool has_fences = false, has_waits = false;
  atomics::FreeMemory free(ranges.value());
  for (const link_map* object : linked_objects()) {
    if (!job.choice.is_shared(*object)) continue;
    auto found = scan_object(job.runtime, *object);
    if (!found) return found.error();
    tell_undecided(job, found.value().scan, *object);
    auto patched = atomics::patch(found.value().scan, free);
    if (!patched) return patched.error();
    has_fences = has_fences || (patched.value().fences != 0 && !fences_are_calls(*object));
    has_waits = has_waits || found.value().has_spin_loops || imports_waits(*object);
  }
  if (has_fences) {
    job.runtime.synchronization().expect_flags();
  } else if (has_waits) {
    job.runtime.synchronization().suspect_flags();
  }
  return {};
}

}  // namespace

void patch_atomics(Job& job) {
  if (job.runtime.memory().is_one()) return;
  if (const Result<void> patched = patch_all(job); !patched)
    job.runtime.ending().abort(1, patched.error().message);
}

void patch_library(Job& job, const link_map& library, std::uintptr_t& next) {
  if (job.runtime.memory().is_one()) return;
  auto found = scan_object(job.runtime, library);
  if (!found) job.runtime.ending().abort(1, found.error().message);
  tell_undecided(job, found.value().scan, library);
  const std::size_t bytes = atomics::room_for(found.value().scan);
  if (bytes == 0) return;
  auto ranges = shared_ranges(job.runtime);
  if (!ranges) job.runtime.ending().abort(1, ranges.error().message);
  atomics::FreeMemory free(ranges.value());
  auto patched = atomics::patch(found.value().scan, free, next);
  if (!patched) job.runtime.ending().abort(1, patched.error().message);
  next += bytes;
  if (patched.value().fences != 0) job.runtime.synchronization().expect_flags();
}

}  // namespace musubi::image
