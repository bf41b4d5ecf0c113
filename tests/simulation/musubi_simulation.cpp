// Runs simulated programs: `musubi_simulation --seed=1 --programs=1000 [--nodes=4 ...]`.
//   --programs=N      N programs with consecutive seeds (default 1); MUSUBI_SIMULATION_PERCENT scales N
//   --hunt=BUG        injects the fault BUG and succeeds if it is found within the programs; "all": each
//                     of them; "common": each fault that programs of any shape find soon
//   --reached=a,b,c   succeeds only if each of these situations was reached
//   --verbose=1       one line per program
// Any field of sim::Configuration is a flag; it overrides the value drawn from the seed. Exit status: 0 on
// success.
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "simulator/run.h"

namespace {

using musubi::InjectedBug;
using musubi::sim::Configuration;
using musubi::sim::Verdict;

// For the handler below: a failed check of Musubi aborts, and the line that repeats it must still appear.
char repeat_text[1024];

void on_abort(int) {
  [[maybe_unused]] const ssize_t written = ::write(STDOUT_FILENO, repeat_text, std::strlen(repeat_text));
  ::_exit(3);
}

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t programs = 1;
  std::string hunt;
  std::string reached;
  bool verbose = false;
  std::vector<std::pair<std::string, std::string>> overrides;
};

bool parse_number(std::string_view text, std::uint64_t* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc{} && end == text.data() + text.size();
}

bool parse_flag(std::string_view flag, Options* options) {
  const std::size_t equals = flag.find('=');
  if (flag.substr(0, 2) != "--" || equals == std::string_view::npos) return false;
  const std::string name(flag.substr(2, equals - 2));
  const std::string_view text = flag.substr(equals + 1);
  if (name == "hunt") return options->hunt = text, true;
  if (name == "reached") return options->reached = text, true;
  Configuration probe;
  if (name != "seed" && musubi::sim::set(probe, name, text)) {
    options->overrides.emplace_back(name, text);
    return true;
  }
  std::uint64_t value = 0;
  if (!parse_number(text, &value)) return false;
  if (name == "seed") return options->seed = value, true;
  if (name == "programs") return options->programs = value, true;
  if (name == "verbose") return options->verbose = value != 0, true;
  return false;
}

Configuration configuration_of(const Options& options, std::uint64_t seed) {
  Configuration configuration = musubi::sim::draw(seed);
  for (const auto& [name, value] : options.overrides) musubi::sim::set(configuration, name, value);
  std::snprintf(repeat_text, sizeof repeat_text, "%s\n", musubi::sim::repeat_line(configuration).c_str());
  return configuration;
}

struct Totals {
  std::uint64_t events = 0;
  std::map<std::string_view, std::uint64_t> marks;
};

// Result: whether the program passed. Every 20th program runs twice and must do the same.
bool run_one(const Options& options, std::uint64_t index, Totals* totals) {
  const Configuration configuration = configuration_of(options, options.seed + index);
  const Verdict verdict = musubi::sim::run(configuration);
  totals->events += verdict.events;
  for (const auto& [mark, times] : verdict.marks) totals->marks[mark] += times;
  if (options.verbose) {
    std::printf("%s: %lu events, hash %016lx\n", musubi::sim::flags(configuration).c_str(),
                static_cast<unsigned long>(verdict.events), static_cast<unsigned long>(verdict.hash));
  }
  if (!verdict.passed()) {
    std::printf("%s\n%s", verdict.violation.c_str(), repeat_text);
    return false;
  }
  if (index % 20 != 0) return true;
  const Verdict again = musubi::sim::run(configuration);
  if (again.hash == verdict.hash && again.events == verdict.events) return true;
  std::printf("two runs from one seed differ: hash %016lx and %016lx\n%s",
              static_cast<unsigned long>(verdict.hash), static_cast<unsigned long>(again.hash), repeat_text);
  return false;
}

bool all_reached(const Options& options, const Totals& totals) {
  bool all = true;
  std::string_view rest = options.reached;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view mark = rest.substr(0, comma);
    if (!totals.marks.contains(mark)) {
      std::printf("never reached: %.*s\n", static_cast<int>(mark.size()), mark.data());
      all = false;
    }
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  return all;
}

bool run_all(const Options& options) {
  Totals totals;
  for (std::uint64_t i = 0; i < options.programs; ++i) {
    if (!run_one(options, i, &totals)) return false;
  }
  std::printf("%lu programs passed, %lu events\n", static_cast<unsigned long>(options.programs),
              static_cast<unsigned long>(totals.events));
  for (const auto& [mark, times] : totals.marks) {
    std::printf("  reached %.*s %lu times\n", static_cast<int>(mark.size()), mark.data(),
                static_cast<unsigned long>(times));
  }
  return all_reached(options, totals);
}

// In a child process, since an injected fault may also trip a check of the protocol itself.
bool hunt(Options options, InjectedBug bug) {
  const std::string name(musubi::name_of(bug));
  options.overrides.emplace_back("bug", std::to_string(static_cast<unsigned>(bug)));
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    Totals totals;
    for (std::uint64_t i = 0; i < options.programs; ++i) {
      if (!run_one(options, i, &totals)) {
        std::printf("%s: found by program %lu\n", name.c_str(), static_cast<unsigned long>(i + 1));
        std::fflush(stdout);
        ::_exit(3);
      }
    }
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  const bool found = !WIFEXITED(status) || WEXITSTATUS(status) == 3;
  if (!found)
    std::printf("%s: NOT found in %lu programs\n", name.c_str(),
                static_cast<unsigned long>(options.programs));
  return found;
}

bool hunt_all(const Options& options) {
  bool all = true;
  bool known = false;
  for (const InjectedBug bug : musubi::sim::all_bugs()) {
    const bool asked = options.hunt == "all" || options.hunt == musubi::name_of(bug) ||
                       (options.hunt == "common" && bug < InjectedBug::listed_too_late);
    if (!asked) continue;
    known = true;
    if (!hunt(options, bug)) all = false;
  }
  if (!known) std::printf("there is no fault called %s\n", options.hunt.c_str());
  return all && known;
}

void scale_programs(Options* options) {
  const char* percent = std::getenv("MUSUBI_SIMULATION_PERCENT");
  std::uint64_t value = 100;
  if (percent == nullptr || !parse_number(percent, &value)) return;
  options->programs = options->programs * value / 100 + 1;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    if (parse_flag(arguments[i], &options)) continue;
    std::printf("unknown flag %s; flags are --name=number, and --policy=name, with these names:\n ",
                arguments[i]);
    std::printf("seed programs hunt reached verbose");
    for (const std::string_view name : musubi::sim::field_names()) {
      std::printf(" %.*s", static_cast<int>(name.size()), name.data());
    }
    std::printf("\n");
    return 2;
  }
  scale_programs(&options);
  std::signal(SIGABRT, &on_abort);
  const bool passed = options.hunt.empty() ? run_all(options) : hunt_all(options);
  return passed ? 0 : 1;
}
