#include "check/findings.h"

#include <algorithm>
#include <string_view>

#include "image/libraries/object_names.h"

namespace musubi::tools::check {
namespace {

struct Row {
  Verdict verdict;
  const char* subject;
  std::string_view names;
  const char* meaning;
  const char* remedy;
};
constexpr Row library_kinds[] = {
#define MUSUBI_LIBRARY_KIND(verdict, subject, names, meaning, remedy) \
  {Verdict::verdict, subject, names, meaning, remedy},
#include "check/library_kinds.def"
#undef MUSUBI_LIBRARY_KIND
};
constexpr Row uses[] = {
#define MUSUBI_USE(verdict, subject, names, meaning, remedy) \
  {Verdict::verdict, subject, names, meaning, remedy},
#include "check/uses.def"
#undef MUSUBI_USE
};

std::string counted(std::size_t count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

// "a, b and 3 more"
std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t shown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), shown); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
}

bool imports(const Part& part, std::string_view name) {
  if (name.back() != '*') return std::ranges::binary_search(part.imports, name);
  name.remove_suffix(1);
  const auto first = std::ranges::lower_bound(part.imports, name);
  return first != part.imports.end() && first->starts_with(name);
}

bool imports_one_of(const Part& part, std::string_view names) {
  while (!names.empty()) {
    const std::size_t end = std::min(names.find(' '), names.size());
    if (imports(part, names.substr(0, end))) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

// The parts of which this is true; the program alone if it is one of them.
template <class IsTrue>
std::vector<std::string> parts_where(const Facts& facts, IsTrue is_true) {
  std::vector<std::string> names;
  for (const Part& part : facts.parts) {
    if (!is_true(part)) continue;
    names.push_back(part.name);
    if (&part == &facts.parts.front()) break;
  }
  return names;
}

// Says which libraries it is about, if it is not about the program.
std::string about(const Facts& facts, const std::vector<std::string>& names) {
  return names.front() == facts.parts.front().name ? "" : " (in " + list_of(names) + ")";
}

void add_libraries_of_kinds(const Facts& facts, std::vector<Finding>& findings) {
  for (const Row& row : library_kinds) {
    std::vector<std::string> names;
    for (const Part& part : facts.parts) {
      if (image::is_one_of(part.name, row.names)) names.push_back(part.name);
    }
    if (!names.empty())
      findings.push_back({row.verdict, row.subject, list_of(names) + ": " + row.meaning, row.remedy});
  }
}

void add_uses(const Facts& facts, std::vector<Finding>& findings) {
  for (const Row& row : uses) {
    const auto names = parts_where(
        facts, [&](const Part& part) { return !part.is_private && imports_one_of(part, row.names); });
    if (!names.empty())
      findings.push_back({row.verdict, row.subject, row.meaning + about(facts, names), row.remedy});
  }
}

void add_levels(const Facts& facts, std::vector<Finding>& findings) {
  if (!facts.active_levels) return;
  findings.push_back({Verdict::exact, "nested regions",
                      *facts.active_levels + " is set: an inner region has a team of its thread's rank", ""});
}

Code sum_of(const Facts& facts) {
  Code sum;
  for (const Part& part : facts.parts) {
    if (!part.code) continue;
    sum.atomics += part.code->atomics;
    sum.meetings += part.code->meetings;
    sum.fences += part.code->fences;
    sum.breakpoints += part.code->breakpoints;
    sum.unsupported += part.code->unsupported;
    sum.undecided += part.code->undecided;
  }
  return sum;
}

void add_atomics(const Facts& facts, std::vector<Finding>& findings) {
  const Code sum = sum_of(facts);
  if (sum.atomics + sum.fences != 0) {
    std::string meaning = counted(sum.atomics, "atomic operation") + " and " + counted(sum.fences, "fence") +
                          " in the program and its libraries act on the memory of all ranks";
    if (sum.meetings + sum.fences != 0)
      meaning += "; threads may meet by " + std::to_string(sum.meetings + sum.fences) +
                 " of them, which keep the order of plain stores";
    if (sum.breakpoints != 0)
      meaning += "; " + std::to_string(sum.breakpoints) + " of them take 2 us each time";
    findings.push_back({Verdict::exact, "atomics", meaning, ""});
  }
  if (sum.unsupported != 0) {
    findings.push_back({Verdict::best_effort, "atomics",
                        counted(sum.unsupported, "atomic operation") +
                            " of a form that stays as it is: not exact between ranks",
                        "musubi doctor PROGRAM counts them by file"});
  }
  if (sum.undecided != 0) {
    findings.push_back(
        {Verdict::best_effort, "atomics",
         counted(sum.undecided, "place") + " near data may be atomic operations, and are left as they are",
         "keep symbols or unwind tables in the file, which tell code from data"});
  }
}

void add_waits(const Facts& facts, std::vector<Finding>& findings) {
  const auto loops = parts_where(facts, [](const Part& part) { return part.code && part.code->spin_loops; });
  const auto calls = parts_where(facts, [](const Part& part) { return part.waits && !part.is_private; });
  const auto& names = loops.empty() ? calls : loops;
  if (names.empty()) return;
  findings.push_back(
      {Verdict::best_effort, "spin loops",
       "a loop that waits for a plain word sees the change within 0.1 s at first, sooner later on" +
           about(facts, names),
       "wait by a lock, a condition variable or an atomic operation"});
}

void add_libraries(const Facts& facts, std::vector<Finding>& findings) {
  std::vector<std::string> shared, own;
  for (std::size_t i = 1; i < facts.parts.size(); ++i)
    (facts.parts[i].is_private ? own : shared).push_back(facts.parts[i].name);
  if (!shared.empty()) {
    findings.push_back({Verdict::exact, "libraries",
                        "the ranks share the data of " + list_of(shared) + "; each has its own of " +
                            (own.empty() ? "none" : list_of(own)),
                        ""});
  }
}

void add_refusals(const Facts& facts, std::vector<Finding>& findings) {
  for (const std::string& text : facts.refusals) {
    // "<cause>; <remedy>" or "<cause>: <remedy>"
    const std::size_t cut = std::min(text.find("; "), text.find(": "));
    const bool has_remedy = cut != std::string::npos;
    findings.push_back(
        {Verdict::refused, "the file", text.substr(0, cut), has_remedy ? text.substr(cut + 2) : ""});
  }
  if (!facts.missing.empty()) {
    findings.push_back({Verdict::refused, "libraries", list_of(facts.missing) + " not found",
                        "install them, or name their folder in LD_LIBRARY_PATH"});
  }
}

void add_runtime(const Facts& facts, std::vector<Finding>& findings) {
  if (facts.has_ranks_of_its_own) {
    findings.push_back(
        {Verdict::exact, "ranks",
         "linked with Musubi: each rank runs main, and shares what it allocates by musubi.h, sms.h "
         "or gheap.h",
         ""});
  } else if (facts.only_starts_others) {
    findings.push_back(
        {Verdict::best_effort, "other programs",
         "it starts other programs: one that it execs takes its place in the job, one that it starts "
         "as a child does not",
         "musubi check that program"});
  } else if (!facts.unserved.empty()) {
    findings.push_back({Verdict::best_effort, "OpenMP",
                        "Musubi does not define " + list_of(facts.unserved) +
                            ", which stay the program's own runtime's: regions of one thread",
                        "report it, with the compiler's version"});
  }
  const bool has_openmp = std::ranges::any_of(facts.parts, [](const Part& part) {
    return imports_one_of(part, "GOMP_* omp_* __kmpc_*") && !part.is_private;
  });
  if (!has_openmp && !facts.has_ranks_of_its_own && !facts.only_starts_others && facts.refusals.empty()) {
    findings.push_back(
        {Verdict::exact, "OpenMP",
         "none in the program and its libraries: main runs at rank 0, the other ranks stay idle", ""});
  }
}

}  // namespace

std::vector<Finding> findings_of(const Facts& facts) {
  std::vector<Finding> findings;
  if (!facts.parts.empty()) {
    add_runtime(facts, findings);
    // Ranks of their own share only what they allocate as shared.
    if (!facts.has_ranks_of_its_own && !facts.only_starts_others) {
      add_libraries_of_kinds(facts, findings);
      add_uses(facts, findings);
      add_levels(facts, findings);
      add_atomics(facts, findings);
      add_waits(facts, findings);
      add_libraries(facts, findings);
    }
  }
  add_refusals(facts, findings);
  return findings;
}

bool is_accepted(const std::vector<Finding>& findings) {
  return std::ranges::none_of(findings,
                              [](const Finding& finding) { return finding.verdict == Verdict::refused; });
}

}  // namespace musubi::tools::check
