// The notes of the objects that a compiler has given checks (abi.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"

namespace musubi::checks {

struct Note {
  std::uint32_t abi = 0;
  std::uint32_t granule_shift = 0;
  std::uint32_t mode = 0;
  bool is_complete = false;
  std::string why_not{};  // complete
  struct Call {
    std::string name, place;
  };
  std::vector<Call> calls{};               // of other objects
  std::vector<std::string> definitions{};  // that other objects may call
};

struct CheckedObject {
  std::string name;
  Note note;
};

// Those in a segment PT_NOTE of an object, in order; other notes, and damaged ones, are passed over. An
// object that was linked from several may have several.
std::vector<Note> notes_in(std::span<const std::byte> segment);

// All loaded objects of the process, with each of their notes. No other thread may call dlopen() at the time.
std::vector<CheckedObject> checked_objects();

// How many objects the process has loaded so far, those that have been closed since included.
std::uint64_t objects_loaded();

// Machine code of an object with notes.
struct CheckedCode {
  std::uintptr_t begin, end;
  std::uint32_t mode;  // the weakest of its notes: an object may be linked from several
};

// Of all loaded objects, by address. As checked_objects().
std::vector<CheckedCode> checked_code();

// log2 of the granule of all objects; none: there are no objects. Errors: an object follows another contract
// than this runtime, or two have different granules.
Result<std::optional<unsigned>> common_granule(std::span<const CheckedObject> objects);

// The functions that notes define. The texts live as long as the notes.
class CheckedFunctions {
 public:
  void add(const Note& note) { names_.insert(note.definitions.begin(), note.definitions.end()); }
  // Of the calls of `note`, those of functions that no note added so far defines.
  std::vector<Note::Call> missed_by(const Note& note) const;

 private:
  std::unordered_set<std::string_view> names_;
};

// Whether the objects check each access that they make, and those that they call do, so that pages need not.
// Errors: there are none, or one of them does not, with its reason.
Result<void> check_all_accesses(std::span<const CheckedObject> objects);

}  // namespace musubi::checks
