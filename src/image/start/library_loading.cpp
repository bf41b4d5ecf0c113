#include "image/start/library_loading.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/hash.h"
#include "image/libraries/library_handle.h"
#include "image/libraries/linker_hooks.h"
#include "image/libraries/loaded_objects.h"
#include "image/process/owner_calls.h"
#include "image/process/real_function.h"
#include "image/process/stack_bounds.h"
#include "image/start/patched_atomics.h"

namespace musubi::image {
namespace {

// Team word of rank 0: id of the loading thread, or 0.
constexpr std::size_t loading_word = runtime::Words::count - 8;

// Gap between objects, and alignment of their addresses.
constexpr std::size_t place_unit = std::size_t{64} << 10;

// Next address for libraries, the same on all ranks between two loads.
constinit std::uintptr_t next_place = 0;
// The reason why libraries cannot be opened; null: they can.
constinit const char* hooks_problem = nullptr;

constexpr std::uintptr_t round_up(std::uintptr_t value) {
  return (value + place_unit - 1) / place_unit * place_unit;
}

// The objects loaded by one call of dlopen.
class Load final : public LinkerWatch {
 public:
  Load(Job& job, std::uintptr_t first_place) : job_(job), first_(first_place), next_(first_place) {
    watch_linker(this);
  }
  ~Load() { watch_linker(nullptr); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  std::uintptr_t place_object(std::size_t bytes) noexcept override {
    const runtime::Layout& layout = job_.runtime.memory().layout();
    const std::uintptr_t end = layout.late_libraries_base + layout.late_libraries_bytes;
    const std::uintptr_t place = next_;
    if (end - place < bytes + 2 * place_unit) {
      job_.runtime.ending().abort(
          1, "the libraries that the program opens take more addresses than there are for them (" +
                 std::to_string(layout.late_libraries_bytes >> 20) + " MiB): use fewer ranks");
    }
    next_ = round_up(place + bytes + place_unit);
    return place;
  }
  void objects_mapped() noexcept override {
    for (link_map* object : linked_objects()) {
      // Other threads may load objects at other addresses at the same time.
      if (object->l_addr < first_ || object->l_addr >= next_) continue;
      if (std::ranges::count(objects_, object) != 0) continue;
      objects_.push_back(object);
      hold_constructors(*object);
    }
  }

  void forget() {
    for (const link_map* object : objects_) forget_constructors(object);
  }
  const std::vector<link_map*>& objects() const { return objects_; }
  std::uintptr_t next() const { return next_; }
  // A digest of the objects that were loaded, and of the end of their addresses.
  std::uint64_t digest() const {
    std::uint64_t digest = next_;
    for (const link_map* object : objects_) {
      const std::string_view path = object->l_name;
      const std::string_view name = path.substr(path.rfind('/') + 1);
      digest = fnv_step(fnv_hash(name.data(), name.size(), digest), object->l_addr);
    }
    return digest;
  }

 private:
  Job& job_;
  const std::uintptr_t first_;
  std::uintptr_t next_;
  std::vector<link_map*> objects_;
};

// One thread of the job loads at a time; a constructor of a library may open other libraries.
class LoadingLock {
 public:
  explicit LoadingLock(runtime::Runtime& runtime) : runtime_(runtime) {
    if (depth++ != 0) return;
    const auto thread = static_cast<std::uint64_t>(::syscall(SYS_gettid));
    const std::uint64_t me = (std::uint64_t{runtime.self().value} + 1) << 32 | thread;
    long sleep_ns = 10'000;
    while (runtime.words().compare_swap(Rank{0}, loading_word, 0, me) != 0) {
      const timespec duration{0, sleep_ns};
      ::nanosleep(&duration, nullptr);
      sleep_ns = std::min(sleep_ns * 2, 1'000'000L);
    }
  }
  ~LoadingLock() {
    if (--depth == 0) runtime_.words().store(Rank{0}, loading_word, 0);
  }
  LoadingLock(const LoadingLock&) = delete;
  LoadingLock& operator=(const LoadingLock&) = delete;

 private:
  static constinit thread_local int depth;
  runtime::Runtime& runtime_;
};
constinit thread_local int LoadingLock::depth = 0;

// Attaches a thread unknown to the runtime while it works for the runtime.
class Attached {
 public:
  explicit Attached(runtime::Runtime& runtime) : runtime_(runtime), is_new_(runtime.threads().attach()) {}
  ~Attached() {
    if (is_new_) runtime_.threads().detach();
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;

 private:
  runtime::Runtime& runtime_;
  const bool is_new_;
};

// Makes the libraries part of the program at this rank. Runs the constructors of private ones.
void add_to_program(Job& job, const Load& load, bool own_bytes_win) {
  job.choice.decide(load.objects());
  std::vector<link_map*> kept;
  next_place = load.next();
  if (!make_handles(load.objects(), next_place)) {
    job.runtime.ending().abort(1, "the addresses for libraries that the program opens are in use");
  }
  next_place = round_up(next_place);
  for (link_map* object : load.objects()) {
    if (!job.choice.is_shared(*object)) {
      job.library_locks.note(*object);
      kept.push_back(object);
      continue;
    }
    const Globals globals = find_library_globals(*object);
    job.runtime.memory().share_library(globals.shared, globals.private_bytes, own_bytes_win);
    patch_library(job, *object, next_place);
    next_place = round_up(next_place);
  }
  job.runtime.checks().objects_opened();
  run_constructors(kept, job.arguments);
}

// Loads for other ranks.
class Loader {
 public:
  // Calls past the wrappers, which would lead back here.
  explicit Loader(Job& job)
      : job_(job),
        open_(reinterpret_cast<OpenFunction>(next_definition("dlopen"))),
        error_(reinterpret_cast<char* (*)()>(next_definition("dlerror"))) {
    calls_.start(job.runtime, procedures::library_loads, *this);
  }

  void load(Rank caller, std::uint64_t first_place, std::uint64_t digest, int flags, std::string_view given) {
    const std::string path(given);
    const std::string who = "rank " + std::to_string(job_.runtime.self().value);
    const std::string what = path + ", which rank " + std::to_string(caller.value) + " has opened";
    Load load(job_, first_place);
    if (open_(path.c_str(), flags) == nullptr) {
      const char* const reason = error_();
      job_.runtime.ending().abort(1, who + " cannot load " + what + ": " + (reason == nullptr ? "" : reason));
    }
    watch_linker(nullptr);
    if (load.digest() != digest) {
      job_.runtime.ending().abort(1, who + " has loaded other libraries, or at other addresses, for " + what +
                                         ": install the same files for every rank");
    }
    add_to_program(job_, load, false);
  }
  // Lets all other ranks load the same. False: the path is too long.
  bool load_elsewhere(const Load& load, std::uintptr_t first_place, const link_map& opened, int flags) {
    return calls_.at_others<&Loader::load>(job_.runtime.self(), first_place, load.digest(), flags,
                                           opened.l_name) == 0;
  }

 private:
  Job& job_;
  const OpenFunction open_;
  char* (*const error_)();
  OwnerCalls<&Loader::load> calls_;
};
constinit Loader* loader = nullptr;

bool is_private_code(const Job& job, const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  Dl_info unused;
  link_map* object = nullptr;
  if (::dladdr1(reinterpret_cast<void*>(address), &unused, reinterpret_cast<void**>(&object),
                RTLD_DL_LINKMAP) == 0)
    return false;
  return object != nullptr && !job.choice.is_shared(*object);
}

}  // namespace

void serve_library_loads(Job& job) {
  if (job.runtime.ranks() == 1) return;
  loader = new Loader(job);
}

void prepare_library_loads(Job& job) {
  if (job.runtime.ranks() == 1) return;
  next_place = job.runtime.memory().layout().late_libraries_base;
  if (const Result<void> installed = install_linker_hooks(); !installed) {
    hooks_problem =
        (new std::string("Musubi cannot open libraries at several ranks: " + installed.error().message))
            ->c_str();
  }
}

void* open_library(Job& job, OpenFunction open, const void* caller, const char* path, int flags,
                   const char** problem) {
  const InitialStackTold stack_is_initial;
  const bool brings_nothing = path == nullptr || *path == '\0' || (flags & RTLD_NOLOAD) != 0;
  const bool is_of_runtime = brings_nothing || !program_runs() || is_private_code(job, caller);
  if (!is_of_runtime && (flags & RTLD_DEEPBIND) != 0) {
    *problem =
        "RTLD_DEEPBIND is refused by Musubi: the library would not find malloc and OpenMP where they are";
    return nullptr;
  }
  if (is_of_runtime || job.runtime.ranks() == 1) return handle_of_job(open_as(caller, open, path, flags));
  if (hooks_problem != nullptr) {
    *problem = hooks_problem;
    return nullptr;
  }
  const Attached attached(job.runtime);
  const LoadingLock lock(job.runtime);
  const std::uintptr_t first_place = next_place;
  flags |= RTLD_NODELETE;
  Load load(job, first_place);
  void* const handle = open_as(caller, open, path, flags);
  watch_linker(nullptr);
  if (handle == nullptr) {
    load.forget();
    return nullptr;
  }
  if (load.objects().empty() && (flags & RTLD_GLOBAL) == 0) return handle_of_job(handle);
  // A handle of the C library is the address of the object.
  const link_map& opened = *static_cast<const link_map*>(handle);
  if (!loader->load_elsewhere(load, first_place, opened, flags)) {
    job.runtime.ending().abort(
        1, "the path of a library that the program opens is too long: " + std::string(opened.l_name));
  }
  add_to_program(job, load, true);
  run_constructors(load.objects(), job.arguments);
  return handle_of_job(handle);
}

}  // namespace musubi::image
