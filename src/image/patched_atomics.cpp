#include "image/patched_atomics.h"

#include <vector>

#include "atomics/patch.h"
#include "atomics/site.h"
#include "image/loaded_objects.h"
#include "omp/open_singles.h"
#include "omp/thread.h"

namespace musubi::image {
namespace {

class RuntimeSink final : public atomics::AtomicSink {
 public:
  explicit RuntimeSink(runtime::Runtime& runtime) : runtime_(runtime) {}

  AtomicValue execute(std::uintptr_t address, const AtomicOperation& operation) noexcept override {
    omp::note_frame(__builtin_frame_address(0));
    omp::settle_singles(omp::Before::atomic);
    return runtime_.atomic(address, operation);
  }
  void fence() noexcept override {
    omp::note_frame(__builtin_frame_address(0));
    runtime_.flush();
  }

 private:
  runtime::Runtime& runtime_;
};

Result<atomics::SharedRanges> shared_ranges(const runtime::Runtime& runtime) {
  const runtime::Layout& layout = runtime.layout();
  const std::size_t ranks = runtime.ranks();
  std::vector<atomics::AddressRange> ranges{
      {layout.heap_base, layout.heap_base + ranks * layout.heap_bytes_per_rank},
      {layout.stacks_base,
       layout.stacks_base + ranks * layout.stack_slots_per_rank * layout.stack_slot_bytes}};
  for (const runtime::SharedRange& range : find_program_globals().shared) {
    ranges.push_back({range.address, range.address + range.bytes});
  }
  return atomics::SharedRanges::make(ranges);
}

Result<void> patch_program(runtime::Runtime& runtime) {
  auto ranges = shared_ranges(runtime);
  if (!ranges) return ranges.error();
  // Patched code refers to the sink until the process ends.
  auto& sink = *new RuntimeSink(runtime);
  if (const auto attached = atomics::attach(sink, ranges.value()); !attached) return attached.error();
  auto code = atomics::code_of_program();
  if (!code) return code.error();
  auto patched = atomics::patch(atomics::find_sites(code.value()));
  if (!patched) return patched.error();
  if (patched.value().fences != 0) runtime.expect_flags();
  return {};
}

}  // namespace

void patch_atomics(runtime::Runtime& runtime) {
  if (runtime.ranks() == 1) return;  // there is one copy
  if (const Result<void> patched = patch_program(runtime); !patched) {
    runtime.abort(1, patched.error().message);
  }
}

}  // namespace musubi::image
