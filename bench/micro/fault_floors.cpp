#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "floors.h"

namespace musubi::bench {
namespace {

constexpr std::size_t block_bytes = fault_block_bytes;

struct Stage {
  std::size_t block_count = 0;
  std::size_t region_bytes = 0;
  char* user = nullptr;    // protected, where the faults happen
  char* system = nullptr;  // the same pages, always writable
  char* far = nullptr;     // the source from which a block is filled, or its twin
  bool fill = false;       // far -> system before opening; otherwise system -> far, the twin
  int opened = PROT_NONE;
};

// A signal handler receives no user argument, hence a global; set only while faults are measured.
Stage stage;

void require(bool condition, const char* what) {
  if (condition) return;
  std::perror(what);
  std::exit(2);
}

void on_fault(int, siginfo_t* info, void*) {
  const auto offset = static_cast<std::size_t>(static_cast<char*>(info->si_addr) - stage.user);
  if (offset >= stage.region_bytes) {
    signal(SIGSEGV, SIG_DFL);  // a foreign fault: it happens again and kills the process
    return;
  }
  const std::size_t start = offset / block_bytes * block_bytes;
  if (stage.fill) {
    std::memcpy(stage.system + start, stage.far + start, block_bytes);
  } else {
    std::memcpy(stage.far + start, stage.system + start, block_bytes);
  }
  mprotect(stage.user + start, block_bytes, stage.opened);
}

char* map(int fd) {
  const int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  void* address = mmap(nullptr, stage.region_bytes, PROT_READ | PROT_WRITE, flags | MAP_POPULATE, fd, 0);
  require(address != MAP_FAILED, "mmap");
  return static_cast<char*>(address);
}

// Result: the memory file.
int set_stage(std::size_t block_count) {
  stage.block_count = block_count;
  stage.region_bytes = block_count * block_bytes;
  const int fd = memfd_create("fault_floors", MFD_CLOEXEC);
  require(fd >= 0 && ftruncate(fd, static_cast<off_t>(stage.region_bytes)) == 0, "memfd_create");
  stage.system = map(fd);
  stage.user = map(fd);
  stage.far = map(-1);
  std::memset(stage.far, 1, stage.region_bytes);
  return fd;
}

void clear_stage(int fd) {
  for (char* const view : {stage.user, stage.system, stage.far}) munmap(view, stage.region_bytes);
  close(fd);
  stage = Stage{};
}

struct Kind {
  const char* name;
  bool write, fill;
  int closed, opened;
};

Row measure(const Kind& kind, const char* suffix, std::size_t rounds) {
  stage.fill = kind.fill;
  stage.opened = kind.opened;
  std::vector<double> samples;
  samples.reserve(rounds);
  while (samples.size() < rounds) {
    require(mprotect(stage.user, stage.region_bytes, kind.closed) == 0, "mprotect");
    for (std::size_t i = 0; i < stage.block_count && samples.size() < rounds; i++) {
      volatile char* byte = stage.user + i * block_bytes + 64;
      const double start = now_ns();
      if (kind.write) {
        *byte = 1;
      } else {
        static_cast<void>(*byte);
      }
      samples.push_back(now_ns() - start);
    }
  }
  return summarize(std::string(kind.name) + suffix, std::move(samples));
}

}  // namespace

std::vector<Row> fault_floors(std::size_t rounds) {
  constexpr std::size_t stack_bytes = 64 * 1024;
  const auto stack = std::make_unique<char[]>(stack_bytes);
  stack_t alternate = {};
  alternate.ss_sp = stack.get();
  alternate.ss_size = stack_bytes;
  stack_t previous_stack = {};
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  struct sigaction previous = {};
  require(sigaltstack(&alternate, &previous_stack) == 0 && sigaction(SIGSEGV, &action, &previous) == 0,
          "sigaction");

  const Kind kinds[] = {
      {"read fault: invalid -> filled 32 KiB, readable", false, true, PROT_NONE, PROT_READ},
      {"write fault: invalid -> filled 32 KiB, writable", true, true, PROT_NONE, PROT_READ | PROT_WRITE},
      {"write fault: readable -> twin 32 KiB, writable", true, false, PROT_READ, PROT_READ | PROT_WRITE},
  };
  std::vector<Row> rows;
  for (const FaultBlocks& blocks : fault_blocks) {
    const int fd = set_stage(blocks.count);
    for (const Kind& kind : kinds) rows.push_back(measure(kind, blocks.suffix, rounds));
    clear_stage(fd);
  }

  sigaction(SIGSEGV, &previous, nullptr);
  sigaltstack(&previous_stack, nullptr);
  return rows;
}

}  // namespace musubi::bench
