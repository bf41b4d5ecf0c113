#include "report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Module.h"

namespace musubi::compiler {

namespace {

std::string print(const llvm::SCEV& expression) {
  std::string text;
  llvm::raw_string_ostream(text) << expression;
  return text;
}

const char* kind_of(const Range& range) {
  if (!range.writes) return "read";
  if (!range.whole) return "write";
  return range.apart.empty() ? "overwrite" : "overwrite if apart";
}

void add_place(llvm::json::Object& object, const llvm::Instruction& instruction) {
  const llvm::DebugLoc& place = instruction.getDebugLoc();
  if (!place) return;
  object["file"] = llvm::cast<llvm::DIScope>(place.getScope())->getFilename().str();
  object["line"] = place.getLine();
}

}  // namespace

void Report::describe(const Plan& plan, llvm::ScalarEvolution& evolution) {
  for (const Range& range : plan.ranges) {
    std::string text = print(*evolution.getMinusSCEV(range.end, range.begin)) + " bytes at " +
                       print(*range.base) + " + " + print(*range.begin);
    if (!range.dense.empty()) text += ", or row by row where these are far apart";
    if (!range.guards.empty()) text += ", if its conditions hold";
    if (!range.covered_by.empty()) text += ", if no outer range holds it";
    (range.writes ? write_texts_ : texts_)[range.accesses.front()] = std::move(text);
  }
}

void Report::add(const llvm::Function& function, const Plan& plan, Mode mode,
                 llvm::OptimizationRemarkEmitter& remarks) {
  for (const Range& range : plan.ranges) {
    if (is_checked(mode, range.writes)) ++checked_ranges_[&function];
    const llvm::Instruction* first = range.accesses.front();
    const std::string& text = (range.writes ? write_texts_ : texts_)[first];
    const char* where = range.loop == nullptr ? "before the copy" : "before the loop";
    remarks.emit([&] {
      return llvm::OptimizationRemark("musubi", "Range", first)
             << kind_of(range) << " " << where << ": " << text;
    });
    llvm::json::Object object{{"function", function.getName().str()},
                              {"kind", kind_of(range)},
                              {"bytes", text},
                              {"accesses", static_cast<int64_t>(range.accesses.size())}};
    add_place(object, *first);
    ranges_.push_back(std::move(object));
  }
  for (const Left& left : plan.left) {
    const char* kind = left.writes ? "write" : "read";
    const char* to = is_checked(mode, left.writes) ? "a check of its own" : "page faults";
    remarks.emit([&] {
      return llvm::OptimizationRemarkMissed("musubi", "Left", left.instruction)
             << kind << " left to " << to << ": " << left.reason;
    });
    llvm::json::Object object{
        {"function", function.getName().str()}, {"kind", kind}, {"reason", left.reason}};
    add_place(object, *left.instruction);
    left_.push_back(std::move(object));
  }
}

void Report::add_points(const llvm::Function& function, size_t points,
                        llvm::OptimizationRemarkEmitter& remarks) {
  const int64_t ranges = checked_ranges_.lookup(&function);
  if (points == 0 && ranges == 0) return;
  remarks.emit([&] {
    return llvm::OptimizationRemarkMissed("musubi", "Checks", &function)
           << "checks of " << function.getName() << ": " << std::to_string(ranges) << " of ranges, "
           << std::to_string(points) << " of single accesses";
  });
  checks_.push_back(llvm::json::Object{
      {"function", function.getName().str()}, {"ranges", ranges}, {"points", static_cast<int64_t>(points)}});
}

std::string Report::append_to(const std::string& path, const llvm::Module& module) const {
  llvm::json::Object object{{"module", module.getSourceFileName()},
                            {"ranges", llvm::json::Array(ranges_)},
                            {"left", llvm::json::Array(left_)},
                            {"checks", llvm::json::Array(checks_)}};
  std::string line;
  llvm::raw_string_ostream(line) << llvm::json::Value(std::move(object)) << '\n';
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return std::strerror(errno);
  // One write per module: compilers that run side by side do not mix their lines.
  const ssize_t written = ::write(file, line.data(), line.size());
  const int error = errno;
  ::close(file);
  return written == static_cast<ssize_t>(line.size()) ? "" : std::strerror(error);
}

}  // namespace musubi::compiler
