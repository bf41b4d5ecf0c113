#include <fcntl.h>
#include <gnu/libc-version.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "doctor/facts.h"
#include "os/memory.h"

namespace musubi::tools::doctor {
namespace {

std::optional<std::string> first_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  if (file >> word) return word;
  return std::nullopt;
}

std::optional<std::uint64_t> number(const std::string& path) {
  const auto word = first_word(path);
  if (!word || word->find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return std::strtoull(word->c_str(), nullptr, 10);
}

Limit hard_limit(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_max == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_max;
}

// The limit for a program: the soft limit.
Limit limit_of(__rlimit_resource resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

bool processor_has_xsave() {
#if defined(__x86_64__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned allowed_by_kernel = 1u << 27;  // OSXSAVE
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & allowed_by_kernel) != 0;
#else
  return false;
#endif
}

Attempt map_shared(int file, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (memory == MAP_FAILED) return errno;
  ::munmap(memory, bytes);
  return 0;
}

// As a rank does with a peer's memory: a child opens and maps a file of this process.
Attempt open_as_peer(int file, std::size_t bytes) {
  const pid_t owner = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) {
    const std::string path = "/proc/" + std::to_string(owner) + "/fd/" + std::to_string(file);
    const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    ::_exit(opened < 0 ? errno : map_shared(opened, bytes));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

void try_memory_files(Facts& facts) {
  constexpr std::size_t bytes = std::size_t{1} << 20;
  const os::FileDescriptor file(::memfd_create("musubi-doctor", MFD_CLOEXEC));
  if (file.number() < 0 || ::ftruncate(file.number(), bytes) != 0) {
    facts.memory_file = facts.peer_memory = errno;
    return;
  }
  facts.memory_file = map_shared(file.number(), bytes);
  facts.peer_memory = open_as_peer(file.number(), bytes);
}

void try_calls(Facts& facts) {
  const os::FileDescriptor process(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (process.number() < 0) facts.process_file = errno;

  const int persona = ::personality(0xffffffff);
  if (persona < 0 || ::personality(static_cast<unsigned long>(persona) | ADDR_NO_RANDOMIZE) < 0) {
    facts.fixed_addresses = errno;
  } else {
    ::personality(static_cast<unsigned long>(persona));
  }
  const std::size_t page = os::page_bytes();
  void* code = ::mmap(nullptr, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (code == MAP_FAILED || ::mprotect(code, page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    facts.code_modification = errno;
  }
  if (code != MAP_FAILED) ::munmap(code, page);
}

void try_fault_file(Facts& facts) {
  facts.fault_file = os::fault_file_offer();
  if (const auto file = os::FaultFile::open(); !file) facts.fault_file_error = file.error().message;
}

// "always within_size [never] deny": the word in brackets.
std::string word_in_force(const std::string& path) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (word.size() > 2 && word.front() == '[') return word.substr(1, word.size() - 2);
  }
  return {};
}

std::vector<HugePages> pools() {
  std::vector<HugePages> result;
  std::error_code ignored;
  for (const auto& folder : std::filesystem::directory_iterator("/sys/kernel/mm/hugepages", ignored)) {
    const std::string name = folder.path().filename();  // hugepages-2048kB
    const std::size_t digits = name.find_first_of("0123456789");
    if (digits == std::string::npos) continue;
    result.push_back({std::strtoull(name.c_str() + digits, nullptr, 10) * 1024,
                      number(folder.path() / "nr_hugepages").value_or(0),
                      number(folder.path() / "free_hugepages").value_or(0)});
  }
  return result;
}

bool is_filtered() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int mode = 0;
    if (word == "Seccomp:") return status >> mode && mode != 0;
  }
  return false;
}

void read_kernel_settings(Facts& facts) {
  utsname names{};
  ::uname(&names);
  facts.architecture = names.machine;
  facts.kernel = names.release;
  facts.c_library = ::gnu_get_libc_version();
  facts.has_xsave = processor_has_xsave();
  facts.filtered = is_filtered();
  const std::string settings = "/proc/sys/";
  facts.randomisation = static_cast<int>(number(settings + "kernel/randomize_va_space").value_or(2));
  facts.mappings_max = number(settings + "vm/max_map_count");
  facts.overcommit = static_cast<int>(number(settings + "vm/overcommit_memory").value_or(0));
  facts.unprivileged_faults = number(settings + "vm/unprivileged_userfaultfd").value_or(0) != 0;
  if (const auto scope = number(settings + "kernel/yama/ptrace_scope")) {
    facts.traced_scope = static_cast<int>(*scope);
  }
}

void read_limits(Facts& facts) {
  facts.address_space_bytes = limit_of(RLIMIT_AS);
  facts.data_bytes = limit_of(RLIMIT_DATA);
  facts.file_bytes = limit_of(RLIMIT_FSIZE);
  facts.locked_bytes = limit_of(RLIMIT_MEMLOCK);
  facts.open_files = hard_limit(RLIMIT_NOFILE);  // the launcher raises its own
  facts.processes = limit_of(RLIMIT_NPROC);
}

void read_memory(Facts& facts) {
  const auto line = [](const char* name) { return os::memory_line_bytes("/proc/meminfo", name).value_or(0); };
  facts.memory_bytes = line("MemTotal");
  facts.memory_bytes_available = line("MemAvailable");
  facts.swap_bytes_free = line("SwapFree");
  facts.commit_limit_bytes = line("CommitLimit");
  facts.committed_bytes = line("Committed_AS");
  facts.shared_huge_pages = word_in_force("/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  facts.huge_page_pools = pools();
  struct statfs kind {};
  struct statvfs folder {};
  constexpr long memory_file_system = 0x01021994;  // TMPFS_MAGIC
  if (::statfs("/dev/shm", &kind) == 0 && kind.f_type == memory_file_system &&
      ::statvfs("/dev/shm", &folder) == 0) {
    facts.shared_folder_bytes = std::uint64_t{folder.f_blocks} * folder.f_frsize;
  }
  facts.group = os::read_control_group();
}

}  // namespace

Facts gather() {
  Facts facts;
  read_kernel_settings(facts);
  read_limits(facts);
  read_memory(facts);
  try_memory_files(facts);
  try_calls(facts);
  try_fault_file(facts);
  return facts;
}

}  // namespace musubi::tools::doctor
