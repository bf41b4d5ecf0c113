// PORT vm: protection of the user view, and delivery of faults.
//
// Each rank maps its own memory twice: the user view, which the program sees and whose access this port
// changes, and the system view, always readable and writable, through which the runtime fills a block before
// it is opened. Drivers: sigsegv (mprotect), uffd (userfaultfd), soft (a software MMU). Every driver passes
// tests/conformance/vm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/ids.h"

namespace musubi::vm {

// Blocks that are open for stores alone are full of it; each word that is different has been stored.
inline constexpr std::uint32_t unwritten = 0xfff5fff5u;

enum class Access : std::uint8_t { none, read, write };

// `count` blocks from `first` on, all in one segment.
struct BlockRun {
  BlockId first;
  std::uint64_t count = 1;
};

// All operations: any thread, never block, take effect for all threads of the rank before they return. At
// start every block is closed. The caller serialises operations on one block.
class Vm {
 public:
  virtual ~Vm() = default;

  virtual void open_read(BlockRun run) noexcept = 0;   // none -> read
  virtual void open_write(BlockRun run) noexcept = 0;  // none -> write, without a stop at read
  virtual void upgrade(BlockRun run) noexcept = 0;     // read -> write
  virtual void downgrade(BlockRun run) noexcept = 0;   // write -> read
  virtual void close(BlockRun run) noexcept = 0;       // read or write -> none

  // none -> stores alone, of values of 4 or 8 bytes without an `unwritten` word (src/checks/abi.h): no page
  // can do that, so only unprotected segments have it. open_write() leads to write, close() back to none.
  virtual void open_stores(BlockRun /*run*/) noexcept {
    MUSUBI_CHECK(false, "pages cannot be open for stores alone");
  }

  // none -> write, for good: accesses are no longer watched, the kernel may write there in system calls that
  // were not announced, and no operation may name these blocks again.
  virtual void leave_open(BlockRun run) noexcept = 0;
};

// A touch of `block` without the necessary access. A driver that cannot tell reads from writes reports a read
// first, and a write if the block was readable.
struct Fault {
  BlockId block;
  Access wanted;
  std::uintptr_t address = 0;          // 0: unknown
  std::uintptr_t program_counter = 0;  // of the instruction that touched it; 0: unknown
};

// Receives faults of the user view.
class FaultSink {
 public:
  // Result: true if the access may be retried, false if the program has no right to it (a guard page of a
  // stack): the driver then treats it as a crash of the program. Runs on the faulting thread; drivers of real
  // pages call it inside a signal handler.
  virtual bool on_fault(const Fault& fault) noexcept = 0;

  // Whether the program may run code in the segment of `block`. Called on an instruction fetch there, on the
  // faulting thread; drivers of real pages call it inside a signal handler.
  virtual bool may_execute(BlockId) noexcept { return false; }

 protected:
  ~FaultSink() = default;
};

// The source of a private copy of a rank's memory, for a child process.
class CopySource {
 public:
  // Has the rank open [address, address+bytes), so that its memory file holds the bytes that its program
  // would read there. Blocks until then. False if the rank no longer answers. Inside a signal handler.
  virtual bool open(std::uintptr_t address, std::size_t bytes) noexcept = 0;

 protected:
  ~CopySource() = default;
};

}  // namespace musubi::vm
