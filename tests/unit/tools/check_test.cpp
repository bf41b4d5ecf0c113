// Findings of `musubi check` from made-up facts.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "check/report.h"

namespace musubi::tools::check {
namespace {

Part part(const char* name, std::vector<std::string> imports = {}) {
  Part made;
  made.name = name;
  made.path = std::string("/lib/") + name;
  made.imports = std::move(imports);
  return made;
}

Facts openmp_program() {
  Facts facts;
  facts.path = "./program";
  facts.kind = FileKind::dynamic_program;
  facts.parts = {part("program", {"GOMP_parallel", "omp_get_thread_num"}), part("libgomp.so.1")};
  facts.parts.back().is_private = true;
  return facts;
}

// The findings about a subject, each as "verdict: meaning".
std::vector<std::string> about(const Facts& facts, const std::string& subject) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings_of(facts)) {
    if (finding.subject != subject) continue;
    const char* const verdicts[] = {"exact: ", "best effort: ", "refused: "};
    texts.push_back(verdicts[static_cast<int>(finding.verdict)] + finding.meaning);
  }
  return texts;
}

TEST(Check, APlainOpenMPProgramIsExact) {
  const Facts facts = openmp_program();
  const auto findings = findings_of(facts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].verdict, Verdict::exact);
  EXPECT_EQ(findings[0].subject, "OpenMP of gcc");
  EXPECT_TRUE(is_accepted(findings));
}

TEST(Check, NamesTheLibraryUnlessTheProgramDoesTheSame) {
  Facts facts = openmp_program();
  facts.parts.push_back(part("libx.so", {"fork"}));
  EXPECT_NE(about(facts, "children").at(0).find("(in libx.so)"), std::string::npos);
  facts.parts.front().imports = {"GOMP_parallel", "fork"};
  EXPECT_EQ(about(facts, "children").at(0).find("libx"), std::string::npos);
}

TEST(Check, APrivateLibraryDoesNotSpeakForTheProgram) {
  Facts facts = openmp_program();
  facts.parts.back().imports = {"dlopen", "fork", "pthread_create"};
  facts.parts.back().waits = true;
  EXPECT_EQ(findings_of(facts).size(), 1u);
}

TEST(Check, ANameIsNotItsBeginning) {
  Facts facts = openmp_program();
  facts.parts.front().imports = {"GOMP_parallel", "dlopen_counted", "forked"};
  EXPECT_EQ(findings_of(facts).size(), 1u);
}

TEST(Check, WhatCannotBePatchedIsBestEffort) {
  Facts facts = openmp_program();
  facts.parts.front().code =
      Code{.atomics = 3, .meetings = 1, .breakpoints = 2, .unsupported = 1, .undecided = 4};
  const auto texts = about(facts, "atomics");
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[0].find("exact: 3 atomic operations and 0 fences"), 0u);
  EXPECT_NE(texts[0].find("2 of them take 2 us"), std::string::npos);
  EXPECT_EQ(texts[1].find("best effort: 1 atomic operation of a form"), 0u);
  EXPECT_EQ(texts[2].find("best effort: 4 places"), 0u);
}

TEST(Check, LibrariesSpeakByTheirNames) {
  Facts facts = openmp_program();
  for (const char* name : {"libmpi.so.40", "libcuda.so.1", "libLLVM-16.so.1", "libjemalloc.so.2"})
    facts.parts.push_back(part(name));
  for (const char* subject : {"MPI", "devices", "generated code", "allocator"})
    EXPECT_EQ(about(facts, subject).size(), 1u) << subject;
}

TEST(Check, EntryPointsThatAreNotServedAreNamed) {
  Facts facts = openmp_program();
  facts.unserved = {"GOMP_a", "GOMP_b", "GOMP_c", "GOMP_d", "GOMP_e"};
  EXPECT_NE(about(facts, "OpenMP").at(0).find("GOMP_a, GOMP_b, GOMP_c and 2 more"), std::string::npos);
}

TEST(Check, ARefusalIsACauseAndARemedy) {
  Facts facts = openmp_program();
  facts.refusals = {"./program is linked with x: leave it out", "./program is y; compile it: as before"};
  facts.missing = {"libz.so"};
  const auto findings = findings_of(facts);
  EXPECT_FALSE(is_accepted(findings));
  std::vector<std::string> causes, remedies;
  for (const Finding& finding : findings) {
    if (finding.verdict != Verdict::refused) continue;
    causes.push_back(finding.meaning);
    remedies.push_back(finding.remedy);
  }
  EXPECT_EQ(causes,
            (std::vector<std::string>{"./program is linked with x", "./program is y", "libz.so not found"}));
  EXPECT_EQ(remedies[0], "leave it out");
  EXPECT_EQ(remedies[1], "compile it: as before");
}

TEST(Check, AProgramOfMusubiHasRanksOfItsOwn) {
  Facts facts = openmp_program();
  facts.has_ranks_of_its_own = true;
  facts.parts.front().imports = {"fork"};
  const auto findings = findings_of(facts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].subject, "ranks");
}

TEST(Check, TheReportHasThreeSectionsOfShortLines) {
  Facts facts = openmp_program();
  facts.path = "/a\xff/program";  // no UTF-8
  facts.parts.front().imports = {"GOMP_parallel", "dlopen", "fork"};
  const auto findings = findings_of(facts);
  const std::string text = as_text(facts, findings);
  const std::size_t exact = text.find("\nexact:\n"), best_effort = text.find("\nbest effort:\n"),
                    refused = text.find("\nrefused:\n  nothing\n");
  ASSERT_NE(refused, std::string::npos) << text;
  EXPECT_TRUE(exact < best_effort && best_effort < refused) << text;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_LE(text.find('\n', at) - at, 111u) << text.substr(at);
  const auto whole = nlohmann::json::parse(as_json(facts, findings));
  EXPECT_EQ(whole["findings"].size(), findings.size());
  EXPECT_EQ(whole["accepted"], true);
}

}  // namespace
}  // namespace musubi::tools::check
