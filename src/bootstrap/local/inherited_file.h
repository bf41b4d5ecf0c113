// Memory files of the launcher that its ranks inherit.
#pragma once

namespace musubi::bootstrap::local {

// Whether `file` is the memory file `name`. A program between launcher and rank may have closed it, and the
// number may be that of another by now.
bool is_memory_file(int file, const char* name) noexcept;

}  // namespace musubi::bootstrap::local
