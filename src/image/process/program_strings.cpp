#include "image/process/program_strings.h"

#include <cstring>

#include "heap/heap.h"
#include "image/process/refusal.h"

namespace musubi::image {

char** copy_strings(char* const* strings) {
  std::size_t count = 0, bytes = 0;
  for (; strings[count] != nullptr; ++count) bytes += std::strlen(strings[count]) + 1;
  const std::size_t list_bytes = (count + 1) * sizeof(char*);
  auto* const memory = static_cast<char*>(heap::process_heap.allocate_shared(list_bytes + bytes));
  if (memory == nullptr) refuse(1, "the shared heap is too small for the arguments: raise MUSUBI_HEAP_BYTES");
  auto** const list = reinterpret_cast<char**>(memory);
  char* next = memory + list_bytes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = std::strlen(strings[i]) + 1;
    list[i] = static_cast<char*>(std::memcpy(next, strings[i], length));
    next += length;
  }
  list[count] = nullptr;
  return list;
}

}  // namespace musubi::image
