// A driver of the vm port, with the means to touch its blocks and to observe its faults.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "vm/space.h"
#include "vm/vm.h"

namespace musubi::vm {

struct SeenFault {
  BlockId block;
  Access wanted;
  friend bool operator==(const SeenFault&, const SeenFault&) = default;
};

// Two segments, the last block of the first one cut short.
inline Space two_segments(std::size_t block_bytes, std::size_t granule) {
  Space space(2);
  Segment first;
  first.name = "first";
  first.base = 0x510000000000;
  first.bytes = 299 * block_bytes + granule;
  first.block_bytes = block_bytes;
  space.add(first);
  Segment second = first;
  second.name = "second";
  second.base = 0x520000000000;
  second.bytes = 20 * block_bytes;
  space.add(second);
  return space;
}

class VmWorld : public FaultSink {
 public:
  virtual ~VmWorld() = default;
  virtual Vm& vm() = 0;
  virtual const Space& space() const = 0;
  // Touches the first and the last byte of the block. False when the sink refused the fault.
  virtual bool try_read(BlockId block) = 0;
  virtual bool try_write(BlockId block) = 0;

  std::vector<SeenFault> faults;
  std::function<bool(SeenFault)> answer = [](SeenFault) { return false; };

  bool on_fault(const Fault& fault) noexcept override {
    const SeenFault seen{fault.block, fault.wanted};
    faults.push_back(seen);  // the test's memory is not shared: the allocator may run here
    return answer(seen);
  }
};

struct VmWorldMaker {
  std::string name;
  std::unique_ptr<VmWorld> (*make)();
  std::string missing{};  // the reason why this machine cannot run the driver; empty when it can
};
inline void PrintTo(const VmWorldMaker& maker, std::ostream* out) {
  *out << maker.name;
}

std::vector<VmWorldMaker> soft_worlds();
std::vector<VmWorldMaker> sigsegv_worlds();
std::vector<VmWorldMaker> uffd_worlds();
std::vector<VmWorldMaker> checked_worlds();

}  // namespace musubi::vm
