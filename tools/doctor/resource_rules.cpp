#include <cstdio>

#include "base/in_units.h"
#include "doctor/rule_list.h"

namespace musubi::tools::doctor {
namespace {

std::string counted(std::uint64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::uint64_t threads_of(const Job& job) {
  return std::uint64_t{job.ranks} * job.threads_per_rank;
}

}  // namespace

Finding examine_cores(const Facts& facts, const Job& job) {
  const std::uint64_t threads = threads_of(job);
  std::string fact = counted(facts.cores, "core");
  if (facts.processors != facts.cores) fact += " with " + counted(facts.processors, "hardware thread");
  if (facts.nodes > 1) fact += " on " + counted(facts.nodes, "NUMA node");
  if (facts.processors < facts.machine_processors) {
    fact += ", of " + counted(facts.machine_processors, "hardware thread") + " of the machine";
  }
  Finding finding{"cores", Severity::ok, fact,
                  "each of the job's " + counted(threads, "thread") + " can have a core of its own", ""};
  if (threads <= facts.cores) return finding;
  finding.severity = Severity::warning;
  finding.meaning = threads <= facts.processors
                        ? "the job's " + counted(threads, "thread") + " share cores by hyper-threading"
                        : "the job's " + counted(threads, "thread") +
                              " take turns: waiting threads yield and sleep, barriers cost microseconds more";
  finding.remedy = "`musubi run -n R -t T` with R x T at most " + std::to_string(facts.cores);
  if (facts.processors < facts.machine_processors) {
    finding.remedy += ", or more processors for this process (`taskset`, the container's cpuset)";
  }
  return finding;
}

Finding examine_quota(const Facts& facts, const Job& job) {
  Finding finding{"processor_quota", Severity::ok, "none", "waiting threads may spin without being throttled",
                  ""};
  if (!facts.group.processors) return finding;
  finding.fact = "the control group grants " + decimal(*facts.group.processors) + " processors' time";
  if (*facts.group.processors >= static_cast<double>(threads_of(job))) return finding;
  finding.severity = Severity::warning;
  finding.meaning = "less than the job's " + counted(threads_of(job), "thread") +
                    ": the kernel stops all of them in turn, for up to a tenth of a second";
  finding.remedy =
      "fewer ranks or threads, or a larger quota (`docker run --cpus=" + std::to_string(threads_of(job)) +
      "`, cpu.max); else `--set spin_checks=0`";
  return finding;
}

Finding examine_memory(const Facts& facts, const Job&) {
  Finding finding{
      "memory", Severity::ok,
      in_units(facts.memory_bytes_available) + " of " + in_units(facts.memory_bytes) + " available" +
          (facts.swap_bytes_free > 0 ? ", " + in_units(facts.swap_bytes_free) + " of swap" : ""),
      "a rank takes memory for pages that it touches, twice for pages that it writes and other ranks read",
      ""};
  constexpr std::uint64_t little = std::uint64_t{256} << 20;
  if (facts.memory_bytes_available + facts.swap_bytes_free >= little) return finding;
  finding.severity = Severity::warning;
  finding.meaning = "a job of any size will run out of memory";
  finding.remedy = "end other programs (`ps aux --sort=-rss | head`), or run on a larger machine";
  return finding;
}

Finding examine_memory_limit(const Facts& facts, const Job&) {
  Finding finding{"memory_limit", Severity::ok, "none by control group", "ranks may use the machine's memory",
                  ""};
  const os::ControlGroup& group = facts.group;
  if (!group.memory_bytes_max) return finding;
  const std::uint64_t left = group.memory_bytes_left.value_or(*group.memory_bytes_max);
  finding.fact = "the control group allows " + in_units(*group.memory_bytes_max) + ", of which " +
                 in_units(left) + " are left";
  finding.meaning = "all ranks together may use no more; shared memory counts";
  if (left >= facts.memory_bytes_available / 8) return finding;
  finding.severity = Severity::warning;
  finding.meaning += "; a rank that wants more ends the job";
  finding.remedy = "a larger limit (`docker run --memory=`, `sbatch --mem=`, memory.max)";
  return finding;
}

Finding examine_huge_pages(const Facts& facts, const Job&) {
  const std::string& word = facts.shared_huge_pages;
  Finding finding{
      "huge_pages", Severity::ok,
      word.empty() ? "none for shared memory in this kernel" : "transparent ones for shared memory: " + word,
      "memory is protected and allocated in pages of 4 KiB", ""};
  if (word != "always" && word != "force") return finding;
  finding.severity = Severity::warning;
  finding.meaning =
      "a touched byte takes up to 2 MiB of memory in each copy, and changes of protection split "
      "the huge pages again";
  finding.remedy = "`echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled` as root";
  return finding;
}

Finding examine_huge_page_pools(const Facts& facts, const Job&) {
  std::string fact;
  std::uint64_t idle = 0;
  for (const HugePages& pool : facts.huge_page_pools) {
    if (pool.total == 0) continue;
    if (!fact.empty()) fact += ", ";
    fact += counted(pool.total, "page") + " of " + in_units(pool.page_bytes) + " (" +
            std::to_string(pool.free) + " free)";
    idle += pool.page_bytes * pool.free;
  }
  Finding finding{"huge_page_pools", Severity::ok, fact.empty() ? "empty" : fact,
                  "not used: their pages cannot be protected block by block", ""};
  if (idle < facts.memory_bytes / 4 || idle == 0) return finding;
  finding.severity = Severity::warning;
  finding.meaning = in_units(idle) + " of memory are idle in them, and jobs cannot use it";
  finding.remedy = "`sysctl -w vm.nr_hugepages=0` as root, unless another program wants them";
  return finding;
}

Finding examine_shared_folder(const Facts& facts, const Job&) {
  return {"shared_folder", Severity::ok,
          facts.shared_folder_bytes ? "/dev/shm has " + in_units(*facts.shared_folder_bytes)
                                    : "/dev/shm is not mounted",
          "not used: memory files are limited only by the machine's memory, so a small /dev/shm (64 MiB in "
          "docker) does "
          "no harm",
          ""};
}

Finding examine_libfabric(const Facts& facts, const Job&) {
  Finding finding{
      "libfabric", Severity::ok, facts.libfabric_version,
      "with far_fabric=ofi a job over several hosts uses the first of these, or another one named by "
      "ofi_provider; RMA: whether the network itself carries out long gets and puts (on request: by "
      "rma_bytes_min)",
      ""};
  if (facts.libfabric_version.empty()) {
    finding.fact = "not installed";
    finding.meaning = "jobs over several hosts use TCP; far_fabric=ofi is impossible";
    return finding;
  }
  const char* separator = ": ";
  for (std::size_t i = 0; i < facts.libfabric_providers.size(); ++i) {
    finding.fact += separator + facts.libfabric_providers[i] + " (RMA: " + facts.libfabric_rma[i] + ")";
    separator = ", ";
  }
  if (facts.libfabric_providers.empty()) finding.meaning = "none of its providers can carry a job";
  return finding;
}

Finding examine_mpi(const Facts& facts, const Job&) {
  Finding finding{
      "mpi", Severity::ok, "",
      "ranks that its mpirun starts (`mpirun -n 4 musubi exec`) may communicate through it: far_fabric=mpi",
      ""};
  for (const std::string& mpi : facts.mpis) finding.fact += (finding.fact.empty() ? "" : ", ") + mpi;
  if (facts.mpis.empty()) {
    finding.fact = "no adapter";
    finding.meaning = "far_fabric=mpi needs one, named by mpi_library";
  }
  return finding;
}

}  // namespace musubi::tools::doctor
