#include <cstdio>
#include <cstring>

#include "doctor/rule_list.h"

namespace musubi::tools::doctor {
namespace {

// "6.1.0-18-amd64" and 5, 4: whether the release is at least that.
bool at_least(const std::string& release, unsigned major, unsigned minor) {
  unsigned has_major = 0, has_minor = 0;
  if (std::sscanf(release.c_str(), "%u.%u", &has_major, &has_minor) != 2) return false;
  return has_major > major || (has_major == major && has_minor >= minor);
}

std::string refusal(const char* what, Attempt error) {
  return std::string(what) + " is refused: " + std::strerror(error);
}

// Finds out which rule refuses a call that every kernel allows.
std::string who_refuses(const Facts& facts, const char* what) {
  return facts.filtered ? "a seccomp filter is in force: allow " + std::string(what) +
                              " in the container's profile, for example `docker run --security-opt "
                              "seccomp=unconfined`"
                        : "allow " + std::string(what) + " in the sandbox or security module that refuses it";
}

}  // namespace

Finding examine_kernel(const Facts& facts, const Job&) {
  Finding finding{"kernel", Severity::ok, "Linux " + facts.kernel,
                  "5.4 or newer is needed; the launcher watches its ranks by pidfd", ""};
  if (at_least(facts.kernel, 5, 4)) return finding;
  finding.severity = Severity::problem;
  finding.meaning = "too old: the launcher cannot watch its ranks (pidfd, waitid)";
  finding.remedy = "boot Linux 5.4 or newer";
  return finding;
}

Finding examine_c_library(const Facts& facts, const Job&) {
  Finding finding{"c_library", Severity::ok, "glibc " + facts.c_library,
                  "the runtime takes the place of functions of the C library; tested with 2.36", ""};
  if (at_least(facts.c_library, 2, 34)) return finding;
  finding.severity = Severity::warning;
  finding.meaning = "older than 2.34, which has threads in a separate library: not tested";
  finding.remedy = "run in a container with a newer distribution, for example debian:12";
  return finding;
}

Finding examine_processor(const Facts& facts, const Job&) {
  Finding finding{"processor", Severity::ok, facts.architecture,
                  "atomics in compiled programs are found and routed to the runtime", ""};
  if (facts.architecture == "x86_64" && facts.has_xsave) return finding;
  finding.severity = Severity::problem;
  if (facts.architecture == "x86_64") {
    finding.fact += " without XSAVE";
    finding.meaning = "the registers cannot be saved around an atomic operation";
    finding.remedy =
        "enable XSAVE: remove `noxsave` from the kernel's command line, or let the virtual "
        "machine have the host's processor (`-cpu host`)";
  } else {
    finding.meaning = "there is no decoder for this processor's atomics yet";
    finding.remedy = "run on x86-64";
  }
  return finding;
}

Finding examine_memory_files(const Facts& facts, const Job&) {
  Finding finding{"memory_files", Severity::ok, "memfd_create works",
                  "the memory of a rank is in unnamed files, which vanish with the job", ""};
  if (facts.memory_file == 0) return finding;
  finding.severity = Severity::problem;
  finding.fact = refusal("memfd_create", facts.memory_file);
  finding.meaning = "ranks cannot share memory";
  finding.remedy = who_refuses(facts, "memfd_create(2)");
  return finding;
}

Finding examine_peer_memory(const Facts& facts, const Job& job) {
  Finding finding{"peer_memory", Severity::ok, "/proc/PID/fd of a process of this user can be opened",
                  "ranks map each other's memory", ""};
  if (facts.peer_memory == 0) return finding;
  finding.severity = job.ranks == 1 ? Severity::warning : Severity::problem;
  finding.fact = refusal("opening /proc/PID/fd of a process of this user", facts.peer_memory);
  finding.meaning = "ranks cannot map each other's memory; only jobs of one rank run";
  finding.remedy =
      "mount /proc, without hidepid for this user (`mount -o remount,hidepid=0 /proc`), and start "
      "all ranks in one container";
  return finding;
}

Finding examine_process_files(const Facts& facts, const Job&) {
  Finding finding{"process_files", Severity::ok, "pidfd_open works", "the launcher watches its ranks by it",
                  ""};
  if (facts.process_file == 0) return finding;
  finding.severity = Severity::problem;
  finding.fact = refusal("pidfd_open", facts.process_file);
  finding.meaning = "the launcher cannot watch its ranks, so it starts none";
  finding.remedy = who_refuses(facts, "pidfd_open(2)");
  return finding;
}

Finding examine_addresses(const Facts& facts, const Job&) {
  const std::string by_kernel =
      "kernel.randomize_va_space is " + std::to_string(facts.randomisation) + ", a process can switch it off";
  Finding finding{"addresses", Severity::ok, by_kernel,
                  "all ranks get equal addresses for program, libraries and stacks", ""};
  if (facts.fixed_addresses == 0) return finding;
  finding.fact = refusal("personality(ADDR_NO_RANDOMIZE)", facts.fixed_addresses);
  if (facts.randomisation == 0) {
    finding.meaning = "addresses are equal anyway, but the launcher insists";
  } else {
    finding.meaning = "the ranks would have the program at different addresses";
  }
  finding.severity = Severity::problem;
  finding.remedy = who_refuses(facts, "personality(2) with 0x0040000");
  return finding;
}

Finding examine_code_modification(const Facts& facts, const Job&) {
  Finding finding{"code_modification", Severity::ok, "pages may be writable and executable for a moment",
                  "the program's atomics can be routed to the runtime", ""};
  if (facts.code_modification == 0) return finding;
  finding.severity = Severity::problem;
  finding.fact = refusal("a page that is writable and executable", facts.code_modification);
  finding.meaning = "the program's atomics cannot be patched, and would be lost between ranks";
  finding.remedy =
      "SELinux: `setsebool -P deny_execmem 0 selinuxuser_execmod 1`; systemd: "
      "`MemoryDenyWriteExecute=no` for the service";
  return finding;
}

// As the runtime chooses (runtime/choose_vm.cpp).
Finding examine_fault_file(const Facts& facts, const Job& job) {
  Finding finding{"userfaultfd", Severity::ok, "", "", ""};
  switch (facts.fault_file.reach) {
    case os::FaultFileReach::none:
      finding.fact = "not available";
      break;
    case os::FaultFileReach::user_mode_only:
      finding.fact = "available for faults of user code";
      break;
    case os::FaultFileReach::full:
      finding.fact = "available";
      break;
  }
  if (facts.fault_file.reach != os::FaultFileReach::none) {
    char features[32];
    std::snprintf(features, sizeof features, ", features %#llx",
                  static_cast<unsigned long long>(facts.fault_file.features));
    finding.fact += features;
  }
  finding.fact +=
      facts.unprivileged_faults ? "; vm.unprivileged_userfaultfd is 1" : "; vm.unprivileged_userfaultfd is 0";
  const bool gains = job.ranks > 1 && job.threads_per_rank > 1 && facts.processors / job.ranks > 1;
  if (facts.fault_file_error.empty()) {
    finding.meaning =
        "protects the pages of ranks with several threads on cores of their own (vm_driver=auto); mprotect "
        "those of all other ranks";
  } else if (job.vm_driver == "uffd" || (job.vm_driver == "auto" && gains)) {
    const bool asked = job.vm_driver == "uffd";
    finding.severity = asked ? Severity::problem : Severity::warning;
    finding.meaning =
        asked
            ? "vm_driver=uffd is set, but is not available"
            : "pages are protected by mprotect; ranks with several threads would be faster with userfaultfd";
    finding.remedy = facts.fault_file_error;
  } else {
    finding.meaning = "not needed: pages are protected by mprotect";
  }
  return finding;
}

Finding examine_tracing(const Facts& facts, const Job&) {
  const std::string fact = facts.traced_scope
                               ? "kernel.yama.ptrace_scope is " + std::to_string(*facts.traced_scope)
                               : "the kernel has no Yama";
  return {"tracing", Severity::ok, fact, "not used by jobs; matters only to debuggers that attach to a rank",
          ""};
}

Finding examine_library(const Facts& facts, const Job&) {
  if (!facts.library.empty())
    return {"library", Severity::ok, facts.library, "is preloaded into OpenMP programs", ""};
  return {"library", Severity::problem, facts.library_error, "OpenMP programs cannot be started",
          "build or install Musubi again, for example `dev/build release`"};
}

}  // namespace musubi::tools::doctor
