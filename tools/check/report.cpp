#include "check/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace musubi::tools::check {
namespace {

constexpr std::array<Verdict, 3> sections{Verdict::exact, Verdict::best_effort, Verdict::refused};

const char* title(Verdict verdict) {
  switch (verdict) {
    case Verdict::exact:
      return "exact";
    case Verdict::best_effort:
      return "best effort";
    case Verdict::refused:
      return "refused";
  }
  __builtin_unreachable();
}

const char* name(FileKind kind) {
  switch (kind) {
    case FileKind::dynamic_program:
      return "program";
    case FileKind::static_program:
      return "static program";
    case FileKind::library:
      return "library";
    case FileKind::foreign_program:
      return "program of another machine";
    case FileKind::script:
      return "script";
    case FileKind::other:
      return "no program";
  }
  __builtin_unreachable();
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// "program, C++ by GCC: (Debian 12.2.0-14) 12.2.0, needs glibc 2.34 (here 2.36)"
std::string kind_in_words(const Facts& facts) {
  std::string text = name(facts.kind);
  if (!facts.interpreter.empty()) text += " for " + facts.interpreter;
  if (!facts.language.empty()) text += ", " + facts.language;
  if (!facts.compilers.empty()) text += " by " + joined(facts.compilers);
  if (!facts.c_library_needed.empty())
    text += ", needs glibc " + facts.c_library_needed + " (here " + facts.c_library_here + ")";
  return text;
}

// Breaks the text into lines that begin at the same column.
std::string wrapped(const std::string& text, std::size_t indent) {
  constexpr std::size_t line_max = 110;
  std::string result;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (column != indent && column + 1 + (end - at) > line_max) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column != indent) {
      result += ' ';
      ++column;
    }
    result.append(text, at, end - at);
    column += end - at;
    at = end + 1;
  }
  return result + "\n";
}

}  // namespace

std::string as_text(const Facts& facts, const std::vector<Finding>& findings) {
  constexpr std::size_t indent = 20;
  std::string text = facts.path + ": " + kind_in_words(facts) + "\n";
  for (const Verdict section : sections) {
    text += std::string(title(section)) + ":\n";
    const std::size_t before = text.size();
    for (const Finding& finding : findings) {
      if (finding.verdict != section) continue;
      std::string head = "  " + finding.subject;
      head.resize(std::max(head.size() + 1, indent), ' ');
      if (head.size() > indent) head += "\n" + std::string(indent, ' ');
      text += head + wrapped(finding.meaning, indent);
      if (!finding.remedy.empty())
        text += std::string(indent, ' ') + "do: " + wrapped(finding.remedy, indent + 4);
    }
    if (text.size() == before) text += "  nothing\n";
  }
  text += is_accepted(findings) ? "A job over several hosts can have it."
                                : "No job over several hosts can have it.";
  const bool can_start =
      facts.missing.empty() && (facts.kind == FileKind::dynamic_program ||
                                facts.kind == FileKind::static_program || facts.kind == FileKind::script);
  return text + (can_start ? " On one host `musubi run` starts it natively, as it is.\n" : "\n");
}

std::string as_json(const Facts& facts, const std::vector<Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"verdict", title(finding.verdict)},
                    {"subject", finding.subject},
                    {"meaning", finding.meaning},
                    {"remedy", finding.remedy}});
  }
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const Part& part : facts.parts)
    parts.push_back({{"name", part.name}, {"path", part.path}, {"private", part.is_private}});
  const nlohmann::ordered_json whole = {{"accepted", is_accepted(findings)},
                                        {"program", facts.path},
                                        {"kind", name(facts.kind)},
                                        {"interpreter", facts.interpreter},
                                        {"language", facts.language},
                                        {"compilers", facts.compilers},
                                        {"glibc_needed", facts.c_library_needed},
                                        {"glibc_here", facts.c_library_here},
                                        {"parts", parts},
                                        {"missing", facts.missing},
                                        {"findings", list}};
  // File names need not be UTF-8: invalid bytes are replaced, since an exception would end the command.
  return whole.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace musubi::tools::check
