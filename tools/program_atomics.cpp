#include "program_atomics.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "atomics/patch.h"
#include "atomics/site.h"
#include "program_checks.h"
#include "program_contents.h"
#include "program_file.h"

namespace musubi::tools {
namespace {

struct Row {
  const char* name;  // in JSON
  std::size_t count;
  const char* text;
};

std::vector<Row> rows_of(const atomics::Scan& scan, const atomics::PatchReport& report) {
  const auto count_of = [&scan](AtomicOrder order) {
    return static_cast<std::size_t>(std::ranges::count(scan.sites, order, &atomics::Site::order));
  };
  return {
      {"instructions", scan.instructions, "instructions looked at"},
      {"atomics", scan.sites.size() - report.fences, "atomic operations"},
      {"meetings", count_of(AtomicOrder::meeting),
       "of them, by which threads may meet; with any, they order plain stores"},
      {"relaxed", count_of(AtomicOrder::relaxed),
       "of them, that order nothing, as musubi-cc has read in the source"},
      {"fences", report.fences, "fences (flush); with any, the order of plain stores is kept, too"},
      {"jumps", report.jumps, "of both, become a jump"},
      {"springboards", report.trampolines, "become a short jump to a jump in padding"},
      {"puns", report.overlapping_jumps, "become a jump that shares bytes with the next instruction"},
      {"breakpoints", report.traps, "become a breakpoint: about 2 us each time"},
      {"unsupported", scan.unsupported, "atomic, but of a form that stays as it is: not exact between ranks"},
      {"doubtful", scan.doubtful,
       "look like atomics near data, and no function or branch leads there: left as they are"},
  };
}

nlohmann::ordered_json json_of(const std::vector<checks::Note>& notes) {
  auto list = nlohmann::ordered_json::array();
  for (const checks::Note& note : notes) {
    list.push_back({{"mode", name_of_mode(note.mode)},
                    {"granule_bytes", std::uint64_t{1} << note.granule_shift % 64},
                    {"contract", note.abi},
                    {"complete", note.is_complete},
                    {"why_not", note.why_not}});
  }
  return list;
}

}  // namespace

int examine_program(const std::string& program, bool as_json) {
  // Libraries need not be executable.
  const bool is_path = program.find('/') != std::string::npos;
  const ProgramPath found = is_path ? ProgramPath{program, {}} : find_program(program);
  if (found.path.empty()) {
    std::fprintf(stderr, "musubi: %s\n", found.error.message.c_str());
    return found.error.exit_status;
  }
  auto scan = atomics::find_sites_of_file(found.path);
  if (!scan) {
    std::fprintf(stderr, "musubi: %s\n", scan.error().message.c_str());
    return 1;
  }
  auto file = read_elf_file(found.path);
  const auto problems =
      file ? problems_of_contents(found.path, file.value()) : std::vector<Error>{file.error()};
  const std::vector<Row> rows = rows_of(scan.value(), atomics::forecast(scan.value()));
  const std::vector<checks::Note> notes = notes_of_file(found.path);
  if (as_json) {
    nlohmann::ordered_json object{{"program", found.path}};
    for (const Row& row : rows) object[row.name] = row.count;
    object["checks"] = json_of(notes);
    if (!problems.empty()) object["problem"] = problems.front().message;
    std::printf("%s\n", object.dump(2).c_str());
    return problems.empty() ? 0 : 1;
  }
  std::printf("%s\n", found.path.c_str());
  for (const Row& row : rows) std::printf("%10zu  %s\n", row.count, row.text);
  std::fputs(text_of_checks(notes).c_str(), stdout);
  if (!problems.empty()) std::printf("problem: %s\n", problems.front().message.c_str());
  return problems.empty() ? 0 : 1;
}

}  // namespace musubi::tools
