#include "launch/pmi/key_values.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

namespace musubi::launch {
namespace {

// Types of libpmix.so.2 (PMIx 3 to 5), whose headers need not be installed.
namespace pmix {

constexpr std::uint16_t type_bool = 1, type_string = 3, type_uint32 = 14;
constexpr std::uint8_t scope_global = 3;
constexpr std::uint32_t all_ranks = UINT32_MAX - 1;

struct Process {
  char space[256];
  std::uint32_t rank;
};
struct Value {
  std::uint16_t type;
  union {
    bool flag;
    char* string;
    std::uint32_t number;
    char room[56];  // more than the largest member of any version
  };
};
struct Info {
  char key[512];
  std::uint32_t flags;
  Value value;
};

struct Functions {
  int (*init)(Process*, Info*, std::size_t);
  int (*finalize)(const Info*, std::size_t);
  int (*put)(std::uint8_t, const char*, Value*);
  int (*commit)();
  int (*fence)(const Process*, std::size_t, const Info*, std::size_t);
  int (*get)(const Process*, const char*, const Info*, std::size_t, Value**);
  const char* (*error_string)(int);
};

}  // namespace pmix

class Pmix final : public KeyValues {
 public:
  static Result<std::unique_ptr<KeyValues>> join() {
    std::unique_ptr<Pmix> joined(new Pmix);
    if (auto loaded = joined->load(); !loaded) return loaded.error();
    if (const int failure = joined->call_.init(&joined->self_, nullptr, 0); failure != 0) {
      return joined->failed("join the job", failure);
    }
    pmix::Process job = joined->self_;
    job.rank = pmix::all_ranks;
    pmix::Value* size = nullptr;
    if (const int failure = joined->call_.get(&job, "pmix.job.size", nullptr, 0, &size); failure != 0) {
      return joined->failed("tell the size of the job", failure);
    }
    if (size->type != pmix::type_uint32) return joined->failed("tell the size of the job", 0);
    joined->ranks_ = size->number;
    std::free(size);
    return std::unique_ptr<KeyValues>(std::move(joined));
  }

  const char* language() const override { return "PMIx"; }
  std::uint32_t rank() const override { return self_.rank; }
  std::uint32_t ranks() const override { return ranks_; }

  Result<void> put(std::string_view key, std::string_view value) override {
    std::string text(value);
    pmix::Value put{};
    put.type = pmix::type_string;
    put.string = text.data();
    const int failure = call_.put(pmix::scope_global, name_of(key).c_str(), &put);
    if (failure != 0) return failed("take a value", failure);
    return {};
  }

  Result<void> fence() override {
    if (const int failure = call_.commit(); failure != 0) return failed("take values", failure);
    pmix::Info collect{};
    std::strcpy(collect.key, "pmix.collect");
    collect.value.type = pmix::type_bool;
    collect.value.flag = true;
    const int failure = call_.fence(nullptr, 0, &collect, 1);
    if (failure != 0) return failed("bring the ranks together", failure);
    return {};
  }

  Result<std::string> get(std::uint32_t rank, std::string_view key) override {
    pmix::Process process = self_;
    process.rank = rank;
    pmix::Value* got = nullptr;
    const int failure = call_.get(&process, name_of(key).c_str(), nullptr, 0, &got);
    if (failure != 0 || got->type != pmix::type_string) return failed("give a value", failure);
    std::string value = got->string;
    std::free(got->string);
    std::free(got);
    return value;
  }

  Result<void> leave() override {
    if (const int failure = call_.finalize(nullptr, 0); failure != 0) return failed("leave", failure);
    return {};
  }

 private:
  static std::string name_of(std::string_view key) { return "musubi." + std::string(key); }

  // Never unloads the library, because it registers handlers for the exit of the process.
  Result<void> load() {
    void* const library = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const why = ::dlerror();
      return Error{std::string("the launcher speaks PMIx, and its library cannot be loaded (") + why +
                   "); add the folder of its libpmix.so.2 to LD_LIBRARY_PATH, or under Slurm use "
                   "`srun --mpi=pmi2`"};
    }
    const bool found = find(library, "PMIx_Init", call_.init) &&
                       find(library, "PMIx_Finalize", call_.finalize) &&
                       find(library, "PMIx_Put", call_.put) && find(library, "PMIx_Commit", call_.commit) &&
                       find(library, "PMIx_Fence", call_.fence) && find(library, "PMIx_Get", call_.get) &&
                       find(library, "PMIx_Error_string", call_.error_string);
    if (!found) return Error{"libpmix.so.2 lacks functions of PMIx 3; install that of the launcher"};
    return {};
  }

  template <class Function>
  static bool find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(library, name));
    return function != nullptr;
  }

  Error failed(const char* what, int status) const {
    return Error{std::string("PMIx does not ") + what + ": " +
                 (status != 0 ? call_.error_string(status) : "a value of another type") +
                 "; try another launcher, or `musubi run --hosts`"};
  }

  pmix::Functions call_{};
  pmix::Process self_{};
  std::uint32_t ranks_ = 0;
};

}  // namespace

Result<std::unique_ptr<KeyValues>> join_pmix() {
  return Pmix::join();
}

}  // namespace musubi::launch
