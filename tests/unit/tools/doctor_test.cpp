// Conclusions of `musubi doctor` from made-up facts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/in_units.h"
#include "doctor/report.h"

namespace musubi::tools::doctor {
namespace {

constexpr std::uint64_t GiB = std::uint64_t{1} << 30;

Facts healthy() {
  Facts facts;
  facts.architecture = "x86_64";
  facts.kernel = "6.1.0-18-amd64";
  facts.c_library = "2.36";
  facts.has_xsave = true;
  facts.randomisation = 2;
  facts.mappings_max = 1048576;
  facts.locked_bytes = 8 << 20;
  facts.open_files = 1048576;
  facts.fault_file = {os::FaultFileReach::user_mode_only, 0x1ffff, 0};
  facts.cores = 8;
  facts.processors = 16;
  facts.nodes = 1;
  facts.machine_processors = 16;
  facts.shared_huge_pages = "never";
  facts.memory_bytes = 32 * GiB;
  facts.memory_bytes_available = 30 * GiB;
  facts.shared_folder_bytes = 16 * GiB;
  facts.library = "/usr/lib/libmusubi-omp.so";
  return facts;
}

Job small_job() {
  Job job;
  job.mapped_bytes = 320 * GiB;
  job.table_bytes = GiB / 4;
  job.file_bytes = 64 * GiB;
  return job;
}

TEST(Doctor, AHealthyMachineGetsAnOkForEverySubject) {
  const auto findings = examine(healthy(), small_job());
  EXPECT_GE(findings.size(), 20u);
  EXPECT_TRUE(job_can_run(findings));
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.severity, Severity::ok) << finding.subject;
    EXPECT_FALSE(finding.fact.empty()) << finding.subject;
    EXPECT_FALSE(finding.meaning.empty()) << finding.subject;
    EXPECT_TRUE(finding.remedy.empty()) << finding.subject;
  }
}

struct Illness {
  const char* subject;
  Severity severity;
  std::function<void(Facts&, Job&)> cause;
  const char* in_fact;
  const char* in_remedy;
};

class DoctorOf : public testing::TestWithParam<Illness> {};

// Each cause changes the finding of its own subject, and no other.
TEST_P(DoctorOf, FindsTheCauseAndNamesTheRemedy) {
  const Illness& illness = GetParam();
  Facts facts = healthy();
  Job job = small_job();
  illness.cause(facts, job);
  const auto findings = examine(facts, job);
  for (const Finding& finding : findings) {
    if (finding.subject != illness.subject) {
      EXPECT_EQ(finding.severity, Severity::ok) << finding.subject;
      continue;
    }
    EXPECT_EQ(finding.severity, illness.severity) << finding.fact;
    EXPECT_NE(finding.fact.find(illness.in_fact), std::string::npos) << finding.fact;
    EXPECT_NE(finding.remedy.find(illness.in_remedy), std::string::npos) << finding.remedy;
    EXPECT_FALSE(finding.meaning.empty());
  }
  EXPECT_TRUE(std::ranges::any_of(findings, [&](const Finding& f) { return f.subject == illness.subject; }));
  EXPECT_EQ(job_can_run(findings), illness.severity != Severity::problem);
}

void no_fault_file(Facts& facts) {
  facts.fault_file = {os::FaultFileReach::none, 0, ENOSYS};
  facts.fault_file_error = "no userfaultfd: boot Linux 6.4";
}

const Illness illnesses[] = {
    {"kernel", Severity::problem, [](Facts& f, Job&) { f.kernel = "4.19.0"; }, "4.19", "5.4"},
    {"kernel", Severity::problem, [](Facts& f, Job&) { f.kernel = "5.3.18"; }, "5.3", "5.4"},
    {"c_library", Severity::warning, [](Facts& f, Job&) { f.c_library = "2.31"; }, "2.31", "newer"},
    {"processor", Severity::problem, [](Facts& f, Job&) { f.architecture = "aarch64"; }, "aarch64", "x86-64"},
    {"processor", Severity::problem, [](Facts& f, Job&) { f.has_xsave = false; }, "XSAVE", "noxsave"},
    {"library", Severity::problem, [](Facts& f, Job&) { f.library = "", f.library_error = "cannot find it"; },
     "cannot find it", "install"},
    {"memory_files", Severity::problem, [](Facts& f, Job&) { f.memory_file = ENOSYS; }, "memfd_create",
     "memfd_create"},
    {"memory_files", Severity::problem, [](Facts& f, Job&) { f.memory_file = EPERM, f.filtered = true; },
     "not permitted", "seccomp=unconfined"},
    {"peer_memory", Severity::problem, [](Facts& f, Job&) { f.peer_memory = EACCES; }, "Permission denied",
     "hidepid"},
    {"peer_memory", Severity::warning, [](Facts& f, Job& j) { f.peer_memory = EACCES, j.ranks = 1; },
     "Permission denied", "hidepid"},
    {"process_files", Severity::problem, [](Facts& f, Job&) { f.process_file = EPERM; }, "pidfd_open",
     "allow"},
    {"addresses", Severity::problem, [](Facts& f, Job&) { f.fixed_addresses = EPERM, f.filtered = true; },
     "personality", "seccomp=unconfined"},
    {"code_modification", Severity::problem, [](Facts& f, Job&) { f.code_modification = EACCES; },
     "writable and executable", "setsebool"},
    {"userfaultfd", Severity::warning, [](Facts& f, Job& j) { no_fault_file(f), j.threads_per_rank = 2; },
     "not available", "boot Linux 6.4"},
    {"userfaultfd", Severity::problem, [](Facts& f, Job& j) { no_fault_file(f), j.vm_driver = "uffd"; },
     "not available", "boot Linux 6.4"},
    {"mappings", Severity::warning, [](Facts& f, Job&) { f.mappings_max = 65530; }, "65530",
     "sysctl -w vm.max_map_count="},
    {"mappings", Severity::warning, [](Facts& f, Job&) { f.mappings_max.reset(); }, "cannot be read",
     "/proc"},
    {"overcommit", Severity::warning,
     [](Facts& f, Job&) { f.overcommit = 2, f.commit_limit_bytes = 16 * GiB, f.committed_bytes = 4 * GiB; },
     "12 GiB left", "vm.overcommit_memory=0"},
    {"overcommit", Severity::problem,
     [](Facts& f, Job&) { f.overcommit = 2, f.commit_limit_bytes = GiB / 4; }, "256 MiB left",
     "vm.overcommit_memory=0"},
    {"address_space", Severity::problem, [](Facts& f, Job&) { f.address_space_bytes = 8 * GiB; }, "8 GiB",
     "ulimit -v"},
    {"address_space", Severity::problem, [](Facts&, Job& j) { j.mapped_bytes = 200 * 1024 * GiB; }, "128 TiB",
     "heap_bytes"},
    {"data", Severity::problem, [](Facts& f, Job&) { f.data_bytes = GiB / 2; }, "512 MiB", "ulimit -d"},
    {"file_size", Severity::problem, [](Facts& f, Job&) { f.file_bytes = GiB; }, "1 GiB", "ulimit -f"},
    {"open_files", Severity::problem,
     [](Facts& f, Job& j) { f.open_files = 256, j.ranks = 64, f.cores = 64; }, "256", "ulimit -Hn 512"},
    {"processes", Severity::problem, [](Facts& f, Job& j) { f.processes = 9, j.threads_per_rank = 2; }, "9",
     "ulimit -u"},
    {"processes", Severity::problem, [](Facts& f, Job&) { f.group.processes_max = 8; }, "pids.max",
     "TasksMax"},
    {"cores", Severity::warning, [](Facts&, Job& j) { j.ranks = 12; }, "8 cores with 16", "at most 8"},
    {"cores", Severity::warning,
     [](Facts& f, Job& j) { f.cores = 2, f.processors = 2, j.ranks = 4, f.nodes = 2; },
     "of 16 hardware threads", "taskset"},
    {"processor_quota", Severity::warning, [](Facts& f, Job&) { f.group.processors = 1.5; }, "1.5",
     "--cpus=2"},
    {"memory", Severity::warning, [](Facts& f, Job&) { f.memory_bytes_available = 100 << 20; }, "100 MiB",
     "larger machine"},
    {"memory_limit", Severity::warning,
     [](Facts& f, Job&) { f.group.memory_bytes_max = GiB, f.group.memory_bytes_left = GiB / 2; }, "512 MiB",
     "docker run --memory"},
    {"huge_pages", Severity::warning, [](Facts& f, Job&) { f.shared_huge_pages = "always"; }, "always",
     "echo advise"},
    {"huge_page_pools", Severity::warning,
     [](Facts& f, Job&) {
       f.huge_page_pools = {{GiB, 16, 15}};
     },
     "16 pages of 1 GiB (15 free)", "vm.nr_hugepages=0"},
};
INSTANTIATE_TEST_SUITE_P(Illnesses, DoctorOf, testing::ValuesIn(illnesses), [](const auto& illness) {
  return std::string(illness.param.subject) + "_" + std::to_string(illness.index);
});

TEST(Doctor, LimitsThatSufficeAreOk) {
  Facts facts = healthy();
  no_fault_file(facts);  // ranks of one thread do not need it
  facts.address_space_bytes = 400 * GiB;
  facts.data_bytes = 8 * GiB;
  facts.file_bytes = 64 * GiB;
  facts.processes = 100;
  facts.group.processors = 2.0;
  facts.group.memory_bytes_max = 16 * GiB;
  facts.group.memory_bytes_left = 15 * GiB;
  facts.huge_page_pools = {{2 << 20, 0, 0}};
  for (const Finding& finding : examine(facts, small_job())) {
    EXPECT_EQ(finding.severity, Severity::ok) << finding.subject << ": " << finding.fact;
  }
}

TEST(Doctor, TheTextSaysTheOutcomeAndTheRemedies) {
  Facts facts = healthy();
  EXPECT_NE(
      as_text(examine(facts, small_job()), small_job()).find("A job of 2 ranks with 1 thread each can run"),
      std::string::npos);
  facts.fixed_addresses = EPERM;
  const std::string text = as_text(examine(facts, small_job()), small_job());
  EXPECT_NE(text.find("problem  addresses"), std::string::npos);
  EXPECT_NE(text.find("do: allow personality(2)"), std::string::npos);
  EXPECT_NE(text.find("no job of 2 ranks"), std::string::npos);
}

TEST(Doctor, TheJsonHoldsTheSame) {
  Facts facts = healthy();
  facts.fixed_addresses = EPERM;
  facts.library = "/a\xff/libmusubi-omp.so";  // no UTF-8
  const auto json = nlohmann::json::parse(as_json(examine(facts, small_job()), small_job(), facts));
  EXPECT_FALSE(json["can_run"]);
  EXPECT_EQ(json["job"]["ranks"], 2);
  EXPECT_EQ(json["facts"]["cores"], 8);
  EXPECT_TRUE(json["facts"]["memory_limit_bytes"].is_null());
  const auto& findings = json["findings"];
  const auto bad = std::ranges::find_if(findings, [](const auto& f) { return f["severity"] == "problem"; });
  ASSERT_NE(bad, findings.end());
  EXPECT_EQ((*bad)["subject"], "addresses");
}

TEST(Doctor, NamesTheProvidersOfLibfabric) {
  const auto fact = [](const Facts& facts) {
    const auto findings = examine(facts, small_job());
    return std::ranges::find(findings, "libfabric", &Finding::subject)->fact;
  };
  Facts facts = healthy();
  EXPECT_EQ(fact(facts), "not installed");
  facts.libfabric_version = "1.17";
  facts.libfabric_providers = {"cxi", "tcp;ofi_rxm"};
  facts.libfabric_rma = {"gets and puts", "no"};
  EXPECT_EQ(fact(facts), "1.17: cxi (RMA: gets and puts), tcp;ofi_rxm (RMA: no)");
}

TEST(Doctor, NamesTheMpisThatHaveAnAdapter) {
  const auto fact = [](const Facts& facts) {
    const auto findings = examine(facts, small_job());
    return std::ranges::find(findings, "mpi", &Finding::subject)->fact;
  };
  Facts facts = healthy();
  EXPECT_EQ(fact(facts), "no adapter");
  facts.mpis = {"mpich: MPICH Version: 4.0.2", "openmpi: Open MPI v4.1.4"};
  EXPECT_EQ(fact(facts), "mpich: MPICH Version: 4.0.2, openmpi: Open MPI v4.1.4");
}

TEST(Doctor, UnitsAreReadable) {
  EXPECT_EQ(in_units(0), "0 B");
  EXPECT_EQ(in_units(1023), "1023 B");
  EXPECT_EQ(in_units(1536), "1.5 KiB");
  EXPECT_EQ(in_units(64 * GiB), "64 GiB");
  EXPECT_EQ(in_units(10 * 1024 * GiB), "10 TiB");
}

}  // namespace
}  // namespace musubi::tools::doctor
