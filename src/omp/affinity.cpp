#include "omp/affinity.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "omp/job.h"
#include "omp/shared_memory.h"
#include "omp/thread.h"
#include "os/host_name.h"

namespace musubi::omp {
namespace {

// The processors that the calling thread may use: "0-3,8".
std::string processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "unknown";
  std::string text;
  for (int first = 0; first < CPU_SETSIZE; ++first) {
    if (!CPU_ISSET(first, &set)) continue;
    int last = first;
    while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
    first = last;
  }
  return text;
}

struct Field {
  char letter;
  std::string_view name;
};
constexpr Field fields[] = {{'t', "team_num"},       {'T', "num_teams"},   {'L', "nesting_level"},
                            {'n', "thread_num"},     {'N', "num_threads"}, {'a', "ancestor_tnum"},
                            {'H', "host"},           {'P', "process_id"},  {'i', "native_thread_id"},
                            {'A', "thread_affinity"}};

std::string value_of(char letter) {
  const ImplicitTask& task = implicit_task();
  switch (letter) {
    case 't':
      return std::to_string(current_task().icv.league_number);
    case 'T':
      return std::to_string(current_task().icv.league);
    case 'L':
      return std::to_string(task.level);
    case 'n':
      return std::to_string(task.number);
    case 'N':
      return std::to_string(task.size);
    case 'a':
      return task.level == 0 ? "-1" : std::to_string(task.ancestor != nullptr ? task.ancestor->number : 0);
    case 'H':
      return os::host_name("unknown");
    case 'P':
      return std::to_string(getpid());
    case 'i':
      return std::to_string(syscall(SYS_gettid));
    case 'A':
      return processors();
    default:
      return "undefined";
  }
}

// Expands a field after its '%': [[[0].]size]type, where type is a letter or {name}. Result: the text; `rest`
// begins after the field.
std::string expand(std::string_view& rest) {
  bool zeros = false, right = false;
  std::size_t width = 0;
  if (rest.substr(0, 2) == "0.") {
    zeros = right = true;
    rest.remove_prefix(2);
  } else if (rest.substr(0, 1) == ".") {
    right = true;
    rest.remove_prefix(1);
  }
  constexpr std::size_t width_max = 1000;
  for (; !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; rest.remove_prefix(1)) {
    width = std::min(width * 10 + static_cast<std::size_t>(rest[0] - '0'), width_max);
  }
  char letter = 0;
  if (!rest.empty() && rest[0] == '{') {
    const std::size_t end = rest.find('}');
    const std::string_view name = rest.substr(1, end == rest.npos ? rest.npos : end - 1);
    for (const Field& field : fields) letter = field.name == name ? field.letter : letter;
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  } else if (!rest.empty()) {
    letter = rest[0];
    rest.remove_prefix(1);
  }
  std::string value = value_of(letter);
  if (value.size() >= width) return value;
  const std::size_t missing = width - value.size();
  if (!right) return value + std::string(missing, ' ');
  const bool number = letter != 'H' && letter != 'A' && value != "undefined";
  if (!zeros || !number) return std::string(missing, ' ') + value;
  const std::size_t sign = value[0] == '-' ? 1 : 0;
  return value.insert(sign, missing, '0');
}

}  // namespace

std::string affinity_text(std::string_view format) {
  std::string text;
  while (!format.empty()) {
    const char c = format[0];
    format.remove_prefix(1);
    if (c != '%') {
      text += c;
    } else if (!format.empty() && format[0] == '%') {
      text += '%';
      format.remove_prefix(1);
    } else {
      text += expand(format);
    }
  }
  return text;
}

std::string affinity_format() {
  Job& job = Job::require("OMP_AFFINITY_FORMAT");
  const std::uint64_t address = job.words.load(Rank{0}, words::affinity_format);
  if (address == 0) return job.environment.affinity_format;
  if (job.ranks > 1) job.runtime.synchronization().acquire(channel_of(words::affinity_format));
  return reinterpret_cast<const char*>(address);
}

void set_affinity_format(std::string_view format) {
  Job& job = Job::require("omp_set_affinity_format");
  auto* copy = static_cast<char*>(allocate_shared_zeroed(1, format.size() + 1));
  std::memcpy(copy, format.data(), format.size());
  if (job.ranks > 1) job.runtime.synchronization().release(channel_of(words::affinity_format));
  const std::uint64_t before = job.words.load(Rank{0}, words::affinity_format);
  job.words.store(Rank{0}, words::affinity_format, reinterpret_cast<std::uintptr_t>(copy));
  // Inside a region another thread may still read it.
  if (before != 0 && implicit_task().level == 0) free_shared(reinterpret_cast<void*>(before));
}

void print_affinity(std::string_view format) {
  const std::string line = affinity_text(format) + "\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

void display_affinity_when_changed() {
  const std::string format = affinity_format();
  const std::size_t hash = std::hash<std::string>{}(affinity_text(format));
  std::size_t& last = this_thread().displayed_affinity;
  if (hash == last) return;
  last = hash;
  print_affinity(format);
}

}  // namespace musubi::omp
