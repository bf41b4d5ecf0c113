// sms.h: shared memory.
#include <cstdint>
#include <string>

#include "base/export.h"
#include "musubi/sms.h"
#include "runtime/threads/waiting.h"
#include "sms/collective_calls.h"
#include "sms/job.h"

using musubi::Rank;
using musubi::sms::Call;
using musubi::sms::compare;
using musubi::sms::Job;
using musubi::sms::job_in;
using musubi::sms::refuse;

namespace {

constexpr std::size_t byte_by_byte = 1;

// An argument that the published interface declares as int.
std::size_t checked_size(const char* function, const char* what, int size) {
  if (size < 0)
    refuse(function, std::string(what) + " is " + std::to_string(size) + ": give 1 or more; use " + function +
                         "_large for sizes that do not fit into int");
  return static_cast<std::size_t>(size);
}

void require_some(const char* function, const char* what, std::size_t size) {
  if (size == 0) refuse(function, std::string(what) + " is 0: give 1 or more");
}

void* allocate(Job& job, const char* function, std::size_t bytes, std::size_t element_bytes,
               Rank page_manager) {
  auto memory = job.memory.allocate(bytes, element_bytes, page_manager);
  if (!memory) refuse(function, memory.error().message);
  return memory.value();
}

void* alloc(const char* function, std::size_t size, int page_manager) {
  Job& job = job_in(function);
  require_some(function, "the size", size);
  const Rank manager = musubi::sms::manager_in(job, function, page_manager);
  compare(job.runtime, {Call::alloc, manager, size});
  return allocate(job, function, size, byte_by_byte, manager);
}

void* calloc(const char* function, std::size_t num, std::size_t itemsize, int page_manager) {
  Job& job = job_in(function);
  require_some(function, "the number of items", num);
  require_some(function, "the size of an item", itemsize);
  if (num > PTRDIFF_MAX / itemsize)
    refuse(function, "no addresses are left for so many items: ask for fewer");
  const Rank manager = musubi::sms::manager_in(job, function, page_manager);
  compare(job.runtime, {Call::calloc, manager, num * itemsize, static_cast<std::uint32_t>(itemsize)});
  return allocate(job, function, num * itemsize, itemsize, manager);
}

void change_page_manager(const char* function, void* address, std::size_t size, int page_manager) {
  Job& job = job_in(function);
  require_some(function, "the size", size);
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (!job.memory.contains(begin, size))
    refuse(function, "these bytes are not all of one allocation: give bytes of sms_alloc or sms_calloc");
  const Rank manager = musubi::sms::manager_in(job, function, page_manager);
  compare(job.runtime, {Call::change_page_manager, manager, size, static_cast<std::uint32_t>(begin)});
  job.page_managers.change(begin, size, manager);
}

}  // namespace

MUSUBI_EXPORT void* sms_alloc(int size, int page_manager) {
  musubi::runtime::note_call(__builtin_return_address(0));
  return alloc("sms_alloc", checked_size("sms_alloc", "the size", size), page_manager);
}
MUSUBI_EXPORT void* sms_alloc_large(size_t size, int page_manager) {
  musubi::runtime::note_call(__builtin_return_address(0));
  return alloc("sms_alloc_large", size, page_manager);
}

MUSUBI_EXPORT void* sms_calloc(int num, int itemsize, int page_manager) {
  musubi::runtime::note_call(__builtin_return_address(0));
  return calloc("sms_calloc", checked_size("sms_calloc", "the number of items", num),
                checked_size("sms_calloc", "the size of an item", itemsize), page_manager);
}
MUSUBI_EXPORT void* sms_calloc_large(size_t num, size_t itemsize, int page_manager) {
  musubi::runtime::note_call(__builtin_return_address(0));
  return calloc("sms_calloc_large", num, itemsize, page_manager);
}

MUSUBI_EXPORT void sms_change_page_manager(void* address, int size, int page_manager) {
  musubi::runtime::note_call(__builtin_return_address(0));
  change_page_manager("sms_change_page_manager", address,
                      checked_size("sms_change_page_manager", "the size", size), page_manager);
}
MUSUBI_EXPORT void sms_change_page_manager_large(void* address, size_t size, int page_manager) {
  musubi::runtime::note_call(__builtin_return_address(0));
  change_page_manager("sms_change_page_manager_large", address, size, page_manager);
}
