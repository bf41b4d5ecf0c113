#include "checks/notes.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "checks/abi.h"

namespace musubi::checks {
namespace {

constexpr std::size_t words = 4;

std::size_t padded(std::size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

// Texts that end with 0, one after the other; empty ones after the last.
class Texts {
 public:
  explicit Texts(std::span<const std::byte> bytes) : left_(bytes) {}
  std::string next() {
    const auto* const begin = reinterpret_cast<const char*>(left_.data());
    const std::size_t length = ::strnlen(begin, left_.size());
    left_ = left_.subspan(std::min(length + 1, left_.size()));
    return std::string(begin, length);
  }

 private:
  std::span<const std::byte> left_;
};

std::optional<Note> read_note(std::span<const std::byte> description) {
  std::uint32_t values[words];
  if (description.size() < sizeof values) return std::nullopt;
  std::memcpy(values, description.data(), sizeof values);
  Texts texts(description.subspan(sizeof values));
  Note note{values[0], values[1], values[2], values[3] != 0, texts.next()};
  for (std::string name = texts.next(); !name.empty(); name = texts.next())
    note.calls.push_back({std::move(name), texts.next()});
  for (std::string name = texts.next(); !name.empty(); name = texts.next())
    note.definitions.push_back(std::move(name));
  return note;
}

std::vector<Note> notes_of(const dl_phdr_info& object) {
  std::vector<Note> notes;
  for (const ElfW(Phdr) & header : std::span(object.dlpi_phdr, object.dlpi_phnum)) {
    if (header.p_type != PT_NOTE) continue;
    const auto* const at = reinterpret_cast<const std::byte*>(object.dlpi_addr + header.p_vaddr);
    std::ranges::move(notes_in({at, header.p_memsz}), std::back_inserter(notes));
  }
  return notes;
}

int add_object(dl_phdr_info* object, std::size_t, void* data) {
  auto& found = *static_cast<std::vector<CheckedObject>*>(data);
  const std::string name = object->dlpi_name[0] != 0 ? object->dlpi_name : "the program";
  for (Note& note : notes_of(*object)) found.push_back({name, std::move(note)});
  return 0;
}

int take_loads(dl_phdr_info* object, std::size_t, void* data) {
  *static_cast<std::uint64_t*>(data) = object->dlpi_adds;
  return 1;  // every object has the number
}

int add_code(dl_phdr_info* object, std::size_t, void* data) {
  auto& found = *static_cast<std::vector<CheckedCode>*>(data);
  const std::vector<Note> notes = notes_of(*object);
  if (notes.empty()) return 0;
  const std::uint32_t mode = std::ranges::min(notes, {}, &Note::mode).mode;
  for (const ElfW(Phdr) & header : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    found.push_back({begin, begin + header.p_memsz, mode});
  }
  return 0;
}

}  // namespace

std::vector<Note> notes_in(std::span<const std::byte> segment) {
  constexpr std::string_view wanted_name = MUSUBI_CHECKS_NOTE_NAME;
  std::vector<Note> notes;
  while (segment.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, segment.data(), sizeof header);
    segment = segment.subspan(sizeof header);
    const std::size_t name_bytes = padded(header.n_namesz), bytes = padded(header.n_descsz);
    if (name_bytes > segment.size() || bytes > segment.size() - name_bytes) break;
    const std::string_view name(reinterpret_cast<const char*>(segment.data()), header.n_namesz);
    const bool is_wanted = header.n_type == MUSUBI_CHECKS_NOTE_TYPE &&
                           name == std::string_view(wanted_name.data(), wanted_name.size() + 1);
    if (is_wanted) {
      if (auto note = read_note(segment.subspan(name_bytes, header.n_descsz)))
        notes.push_back(std::move(*note));
    }
    segment = segment.subspan(name_bytes + bytes);
  }
  return notes;
}

std::vector<CheckedObject> checked_objects() {
  std::vector<CheckedObject> found;
  ::dl_iterate_phdr(&add_object, &found);
  return found;
}

std::uint64_t objects_loaded() {
  std::uint64_t loads = 0;
  ::dl_iterate_phdr(&take_loads, &loads);
  return loads;
}

std::vector<CheckedCode> checked_code() {
  std::vector<CheckedCode> found;
  ::dl_iterate_phdr(&add_code, &found);
  std::ranges::sort(found, {}, &CheckedCode::begin);
  return found;
}

Result<std::optional<unsigned>> common_granule(std::span<const CheckedObject> objects) {
  for (const auto& [name, note] : objects) {
    if (note.abi != MUSUBI_CHECKS_ABI) {
      return Error{"the checks in " + name + " follow contract " + std::to_string(note.abi) +
                   ", and this Musubi knows contract " + std::to_string(MUSUBI_CHECKS_ABI) +
                   ": compile it again by the musubi-cc of this version"};
    }
    if (note.granule_shift < MUSUBI_CHECKS_GRANULE_SHIFT_MIN ||
        note.granule_shift > MUSUBI_CHECKS_GRANULE_SHIFT_MAX ||
        note.granule_shift != objects.front().note.granule_shift) {
      const auto bytes = [](const Note& of) {
        return std::to_string(std::uint64_t{1} << of.granule_shift % 64);
      };
      return Error{"the checks in " + name + " have granules of " + bytes(note) + " bytes, in " +
                   objects.front().name + " of " + bytes(objects.front().note) +
                   ": compile all objects by one musubi-cc"};
    }
  }
  if (objects.empty()) return std::optional<unsigned>();
  return std::optional<unsigned>(objects.front().note.granule_shift);
}

std::vector<Note::Call> CheckedFunctions::missed_by(const Note& note) const {
  std::vector<Note::Call> missed;
  std::ranges::copy_if(note.calls, std::back_inserter(missed),
                       [this](const Note::Call& call) { return !names_.contains(call.name); });
  return missed;
}

Result<void> check_all_accesses(std::span<const CheckedObject> objects) {
  constexpr const char* remedy = "; compile all of the program by musubi-cc with --musubi=udsm";
  if (objects.empty()) return Error{std::string("no object of the program has checks") + remedy};
  for (const auto& [name, note] : objects) {
    const bool checks_all = note.mode == MUSUBI_CHECKS_UDSM;
    if (checks_all && note.is_complete) continue;
    const std::string reason = checks_all ? note.why_not : "its checks leave accesses to the pages";
    return Error{"not all accesses of " + name + " are checked (" + reason + ")" + remedy};
  }
  CheckedFunctions checked;
  for (const auto& [name, note] : objects) checked.add(note);
  for (const auto& [name, note] : objects) {
    const auto missed = checked.missed_by(note);
    if (missed.empty()) continue;
    return Error{"not all accesses of " + name + " are checked (a call of " + missed.front().name + " " +
                 missed.front().place + ", in no file with checks)" + remedy};
  }
  return {};
}

}  // namespace musubi::checks
