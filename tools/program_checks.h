// The checks that a compiler has given to a program or library, by the notes in its file.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "checks/notes.h"

namespace musubi::tools {

// Of the file's objects, in the linker's order; none: no object has checks, or the file cannot be read.
std::vector<checks::Note> notes_of_file(const std::string& path);

// A line for each contract, granule and mode, with the number of its objects, and one for each object that
// leaves accesses to the pages, with its reason, and for each function that an object hands pointers to and
// no object of the file has. Indented, for people.
std::string text_of_checks(std::span<const checks::Note> notes);

const char* name_of_mode(unsigned mode);

}  // namespace musubi::tools
