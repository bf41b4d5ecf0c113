// musubi.h: values that all ranks agree on.
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "base/export.h"
#include "c_api/collective_calls.h"
#include "c_api/job.h"
#include "musubi/musubi.h"

using musubi::c_api::Call;
using musubi::c_api::current_job;
using musubi::c_api::Job;
using musubi::runtime::CollectiveTerms;
using musubi::runtime::Runtime;

namespace {

// Integers wrap around, including signed ones.
template <class T>
T apply(int operation, T a, T b) {
  using Whole = std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>;
  using U = typename Whole::type;
  switch (operation) {
    case MUSUBI_SUM:
      return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
    case MUSUBI_PROD:
      return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
    case MUSUBI_MIN:
      return std::min(a, b);
    case MUSUBI_MAX:
      return std::max(a, b);
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    if (operation == MUSUBI_AND) return a & b;
    if (operation == MUSUBI_OR) return a | b;
    if (operation == MUSUBI_XOR) return a ^ b;
  }
  return a;
}

template <class T>
void combine_as(int operation, std::size_t count, std::byte* into, const std::byte* from) {
  for (std::size_t i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, into + i * sizeof(T), sizeof(T));
    std::memcpy(&b, from + i * sizeof(T), sizeof(T));
    const T result = apply(operation, a, b);
    std::memcpy(into + i * sizeof(T), &result, sizeof(T));
  }
}

bool is_floating(int type) {
  return type == MUSUBI_FLOAT || type == MUSUBI_DOUBLE;
}

std::size_t bytes_of_type(int type) noexcept {
  switch (type) {
    case MUSUBI_INT32:
    case MUSUBI_UINT32:
    case MUSUBI_FLOAT:
      return 4;
    case MUSUBI_INT64:
    case MUSUBI_UINT64:
    case MUSUBI_DOUBLE:
      return 8;
    default:
      return 0;
  }
}

bool is_operation(int type, int operation) noexcept {
  if (bytes_of_type(type) == 0 || operation < MUSUBI_SUM || operation > MUSUBI_XOR) return false;
  return !is_floating(type) || operation <= MUSUBI_MAX;
}

void combine(int type, int operation, std::size_t count, std::byte* into, const std::byte* from) noexcept {
  switch (type) {
    case MUSUBI_INT32:
      return combine_as<std::int32_t>(operation, count, into, from);
    case MUSUBI_UINT32:
      return combine_as<std::uint32_t>(operation, count, into, from);
    case MUSUBI_INT64:
      return combine_as<std::int64_t>(operation, count, into, from);
    case MUSUBI_UINT64:
      return combine_as<std::uint64_t>(operation, count, into, from);
    case MUSUBI_FLOAT:
      return combine_as<float>(operation, count, into, from);
    default:
      return combine_as<double>(operation, count, into, from);
  }
}

constexpr std::size_t values_bytes_max = std::size_t{1} << 30;

bool is_rank(const Runtime& runtime, int rank) {
  return rank >= 0 && static_cast<std::uint32_t>(rank) < runtime.ranks();
}

// The program's memory may be shared, and is accessed only here: outside of the runtime's tasks.
std::vector<std::byte> copy_of(Job& job, const void* values, std::size_t bytes) {
  job.open(values, bytes, false);
  std::vector<std::byte> copy(bytes);
  std::memcpy(copy.data(), values, bytes);
  return copy;
}
void store(Job& job, void* values, const void* result, std::size_t bytes) {
  job.open(values, bytes, true);
  std::memcpy(values, result, bytes);
}

int reduce(void* values, std::size_t count, int type, int operation, int root, Call call) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  Runtime& runtime = job->runtime;
  const std::size_t each = bytes_of_type(type);
  if (!is_operation(type, operation) || !is_rank(runtime, root) || count > values_bytes_max / each) {
    return MUSUBI_ERROR_ARGUMENT;
  }
  if (count == 0) return MUSUBI_OK;
  if (values == nullptr) return MUSUBI_ERROR_ADDRESS;
  CollectiveTerms terms;
  terms.call = static_cast<std::uint32_t>(call);
  terms.detail = static_cast<std::uint32_t>(type) << 8 | static_cast<std::uint32_t>(operation);
  terms.root = static_cast<std::uint32_t>(root);
  terms.bytes = count * each;
  const std::vector<std::byte> mine = copy_of(*job, values, terms.bytes);
  std::vector<std::byte> result(mine.size());
  musubi::c_api::gather(runtime, terms, mine.data(), [&](std::size_t before, auto all) {
    const std::size_t bytes = all.size() / runtime.ranks();
    std::memcpy(result.data() + before, all.data(), bytes);
    for (std::uint32_t rank = 1; rank < runtime.ranks(); ++rank) {
      combine(type, operation, bytes / each, result.data() + before, all.data() + rank * bytes);
    }
  });
  const bool gets_it = call == Call::allreduce || runtime.self().value == terms.root;
  if (gets_it) store(*job, values, result.data(), result.size());
  return MUSUBI_OK;
}

}  // namespace

MUSUBI_EXPORT int musubi_broadcast(void** pointer) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  if (pointer == nullptr) return MUSUBI_ERROR_ADDRESS;
  musubi::runtime::BarrierPayload payload{};
  job->open(pointer, sizeof *pointer, false);
  payload[0] = reinterpret_cast<std::uintptr_t>(*pointer);
  musubi::c_api::meet(job->runtime, Call::broadcast, payload);
  const auto* const received = reinterpret_cast<void*>(static_cast<std::uintptr_t>(payload[0]));
  store(*job, pointer, &received, sizeof received);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_broadcast_values(void* values, size_t bytes, int root) {
  Job* const job = current_job();
  if (job == nullptr) return MUSUBI_ERROR_STATE;
  Runtime& runtime = job->runtime;
  if (!is_rank(runtime, root) || bytes > values_bytes_max) return MUSUBI_ERROR_ARGUMENT;
  if (bytes == 0) return MUSUBI_OK;
  if (values == nullptr) return MUSUBI_ERROR_ADDRESS;
  CollectiveTerms terms;
  terms.call = static_cast<std::uint32_t>(Call::broadcast_values);
  terms.root = terms.giver = static_cast<std::uint32_t>(root);
  terms.bytes = bytes;
  std::vector<std::byte> result(bytes);
  if (runtime.self().value == terms.root) result = copy_of(*job, values, bytes);
  musubi::c_api::gather(runtime, terms, result.data(), [&](std::size_t before, auto all) {
    std::memcpy(result.data() + before, all.data(), all.size());
  });
  if (runtime.self().value != terms.root) store(*job, values, result.data(), bytes);
  return MUSUBI_OK;
}

MUSUBI_EXPORT int musubi_reduce(void* values, size_t count, int type, int operation, int root) {
  return reduce(values, count, type, operation, root, Call::reduce);
}

MUSUBI_EXPORT int musubi_allreduce(void* values, size_t count, int type, int operation) {
  return reduce(values, count, type, operation, 0, Call::allreduce);
}
