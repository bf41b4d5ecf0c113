#include "program_checks.h"

#include <cstdint>
#include <map>
#include <tuple>

#include "checks/abi.h"
#include "elf_file.h"

namespace musubi::tools {

std::vector<checks::Note> notes_of_file(const std::string& path) {
  const std::string section = section_of_file(path, MUSUBI_CHECKS_NOTE_SECTION);
  return checks::notes_in(std::as_bytes(std::span(section)));
}

const char* name_of_mode(unsigned mode) {
  switch (mode) {
    case MUSUBI_CHECKS_HINT:
      return "hint";
    case MUSUBI_CHECKS_ADSM:
      return "adsm";
    case MUSUBI_CHECKS_UDSM:
      return "udsm";
    default:
      return "unknown";
  }
}

std::string text_of_checks(std::span<const checks::Note> notes) {
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::size_t> objects;
  for (const checks::Note& note : notes) ++objects[{note.abi, note.granule_shift, note.mode}];
  std::string text;
  for (const auto& [kind, count] : objects) {
    const auto [abi, shift, mode] = kind;
    const std::string number = std::to_string(count);
    text += std::string(number.size() < 10 ? 10 - number.size() : 0, ' ') + number +
            "  objects with checks of mode " + name_of_mode(mode) + ", granules of " +
            std::to_string(std::uint64_t{1} << shift % 64) + " bytes, contract " + std::to_string(abi) + "\n";
  }
  for (const checks::Note& note : notes) {
    if (!note.is_complete && !note.why_not.empty())
      text += "            not complete: " + note.why_not + "\n";
  }
  checks::CheckedFunctions checked;
  for (const checks::Note& note : notes) checked.add(note);
  for (const checks::Note& note : notes) {
    for (const auto& [name, place] : checked.missed_by(note))
      text += "            not complete here: a call of " + name + " " + place + "\n";
  }
  if (objects.size() > 1 && std::get<1>(objects.begin()->first) != std::get<1>(objects.rbegin()->first))
    text += "            compile all of them with one --musubi-granule\n";
  return text;
}

}  // namespace musubi::tools
