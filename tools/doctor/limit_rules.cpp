#include "base/in_units.h"
#include "doctor/rule_list.h"
#include "os/cpu.h"

namespace musubi::tools::doctor {
namespace {

// Without the share that program and libraries may take.
constexpr std::uint64_t address_space_of_job = os::address_space_bytes - (std::uint64_t{1} << 40);

// A process's own needs, in addition to the shared range.
constexpr std::uint64_t own_bytes = std::uint64_t{1} << 30;

std::string count(std::uint64_t number) {
  return std::to_string(number);
}

std::string described(const char* name, const Limit& limit) {
  return std::string(name) + (limit ? " is limited to " + in_units(*limit) : " has no limit");
}

Finding examine_bytes(const char* subject, const char* name, const Limit& limit, std::uint64_t needed,
                      const char* what, const char* command) {
  Finding finding{subject, Severity::ok, described(name, limit),
                  "each rank of this job " + std::string(what) + " " + in_units(needed), ""};
  if (!limit || *limit >= needed) return finding;
  finding.severity = Severity::problem;
  finding.remedy = std::string("`") + command +
                   " unlimited` before the job; where the limit is hard, a shell or a batch job without it";
  return finding;
}

}  // namespace

Finding examine_mappings(const Facts& facts, const Job&) {
  constexpr std::uint64_t usual = 65530, plenty = 262144;
  if (!facts.mappings_max) {
    return {"mappings", Severity::warning, "vm.max_map_count cannot be read",
            "assumed to be 65530: pages are protected in groups when that many mappings are in use",
            "mount /proc"};
  }
  Finding finding{"mappings", Severity::ok, "vm.max_map_count is " + count(*facts.mappings_max),
                  "each block of large data can have its own protection", ""};
  if (*facts.mappings_max >= plenty) return finding;
  finding.severity = Severity::warning;
  finding.meaning =
      *facts.mappings_max >= usual
          ? "enough for about 2 GiB whose blocks of 32 KiB alternate in protection; beyond that, "
            "blocks are protected in groups, which costs faults"
          : "less than usual: blocks will often be protected in groups, which costs faults";
  finding.remedy = "`sysctl -w vm.max_map_count=262144` as root, and a file in /etc/sysctl.d to keep it";
  return finding;
}

Finding examine_overcommit(const Facts& facts, const Job& job) {
  Finding finding{"overcommit", Severity::ok, "vm.overcommit_memory is " + count(facts.overcommit),
                  "untouched address space costs nothing", ""};
  if (facts.overcommit != 2) return finding;
  const std::uint64_t left =
      facts.commit_limit_bytes > facts.committed_bytes ? facts.commit_limit_bytes - facts.committed_bytes : 0;
  finding.fact += ", with " + in_units(left) + " left to commit";
  // Shared memory files are counted page by page, private tables in full.
  const std::uint64_t needed = job.ranks * job.table_bytes;
  finding.severity = needed > left ? Severity::problem : Severity::warning;
  finding.meaning = "the tables of this job commit " + in_units(needed) +
                    " even if they are not touched, and a job "
                    "ends (SIGBUS) when shared memory exceeds the rest";
  finding.remedy =
      "`sysctl -w vm.overcommit_memory=0` as root, or a smaller shared range: "
      "`--set heap_bytes=...`, `--set stack_bytes=...`";
  return finding;
}

Finding examine_address_space(const Facts& facts, const Job& job) {
  Finding finding = examine_bytes("address_space", "address space (RLIMIT_AS)", facts.address_space_bytes,
                                  job.mapped_bytes + own_bytes, "reserves", "ulimit -v");
  if (job.mapped_bytes <= address_space_of_job) return finding;
  finding.severity = Severity::problem;
  finding.fact += "; the processor has 128 TiB";
  finding.remedy = "a smaller shared range: `--set heap_bytes=...`, `--set stack_bytes=...`, or fewer ranks";
  return finding;
}

Finding examine_data_limit(const Facts& facts, const Job& job) {
  return examine_bytes("data", "private data (RLIMIT_DATA)", facts.data_bytes, job.table_bytes + own_bytes,
                       "reserves at least", "ulimit -d");
}

Finding examine_file_limit(const Facts& facts, const Job& job) {
  return examine_bytes("file_size", "the size of files (RLIMIT_FSIZE)", facts.file_bytes, job.file_bytes,
                       "makes a memory file of", "ulimit -f");
}

Finding examine_locked_memory(const Facts& facts, const Job&) {
  return {"locked_memory", Severity::ok, described("locked memory (RLIMIT_MEMLOCK)", facts.locked_bytes),
          "ranks on one host lock none", ""};
}

Finding examine_open_files(const Facts& facts, const Job& job) {
  // The minimum for each rank (image/objects/descriptors.cpp); the launcher takes fewer.
  constexpr std::uint64_t per_rank = 7, besides = 64;
  const std::uint64_t needed = per_rank * job.ranks + besides;
  Finding finding{
      "open_files", Severity::ok,
      facts.open_files ? "at most " + count(*facts.open_files) + " (hard RLIMIT_NOFILE)" : "no limit",
      "a process of this job needs " + count(needed), ""};
  if (!facts.open_files || *facts.open_files >= needed) return finding;
  finding.severity = Severity::problem;
  finding.remedy = "`ulimit -Hn " + count(needed) + "` as root before the job, or a line `* hard nofile " +
                   count(needed) + "` in /etc/security/limits.conf; or fewer ranks";
  return finding;
}

Finding examine_processes(const Facts& facts, const Job& job) {
  // Each rank: its threads, the initial one that waits for main, and the service thread. The launcher: four.
  const std::uint64_t needed = std::uint64_t{job.ranks} * (job.threads_per_rank + 2) + 4;
  Limit least = facts.processes;
  const bool by_group = facts.group.processes_max && (!least || *facts.group.processes_max < *least);
  if (by_group) least = facts.group.processes_max;
  Finding finding{"processes", Severity::ok,
                  !least
                      ? "no limit"
                      : "at most " + count(*least) +
                            (by_group ? " (pids.max of the control group)" : " of this user (RLIMIT_NPROC)"),
                  "this job has " + count(needed) + " threads, those of libraries not counted", ""};
  if (!least || *least >= needed) return finding;
  finding.severity = Severity::problem;
  finding.remedy = by_group ? "raise pids.max: `docker run --pids-limit " + count(2 * needed) +
                                  "`, systemd `TasksMax=" + count(2 * needed) + "`; or fewer ranks"
                            : "`ulimit -u " + count(2 * needed) + "` before the job, or fewer ranks";
  return finding;
}

}  // namespace musubi::tools::doctor
