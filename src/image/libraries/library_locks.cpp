#include "image/libraries/library_locks.h"

#include "image/libraries/library_choice.h"
#include "image/libraries/loaded_objects.h"

namespace musubi::image {

void LibraryLocks::note(const link_map& object) {
  if (!is_library(object.l_name, "libstdc++")) return;
  visit_object(object, [this](const dl_phdr_info& info) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info.dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
      bytes_.store(segment.p_memsz, std::memory_order_relaxed);
      begin_.store(info.dlpi_addr + segment.p_vaddr, std::memory_order_release);
    }
  });
}

}  // namespace musubi::image
