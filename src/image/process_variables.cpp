#include "image/process_variables.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "image/loaded_objects.h"

namespace musubi::image {
namespace {

// Their bytes mean the same in each process, and stay what they are, or only the program changes them. Not
// environ and tzname: the C library of each process stores pointers to memory of its own there.
// __libc_single_threaded is false in each process from its first thread on, one of the runtime's.
constexpr std::string_view harmless[] = {"stdin",
                                         "stdout",
                                         "stderr",
                                         "optarg",
                                         "optind",
                                         "opterr",
                                         "optopt",
                                         "signgam",
                                         "timezone",
                                         "daylight",
                                         "program_invocation_name",
                                         "program_invocation_short_name",
                                         "__progname",
                                         "__progname_full",
                                         "__libc_single_threaded",
                                         "in6addr_any",
                                         "in6addr_loopback",
                                         "_ZSt7nothrow"};

// Constants of libstdc++: tables of virtual functions, types, flags of streams, numbers of facets, npos.
constexpr std::string_view constant_beginnings[] = {"_ZTV", "_ZTI", "_ZTS", "_ZTT", "_ZNSt8ios_base"};
constexpr std::string_view constant_ends[] = {"2idE", "4nposE"};

constexpr std::string_view streams[] = {"_ZSt3cin",  "_ZSt4cout",  "_ZSt4cerr",  "_ZSt4clog",
                                        "_ZSt4wcin", "_ZSt5wcout", "_ZSt5wcerr", "_ZSt5wclog"};

// What makes a stream point to memory of the process that calls it: ios_base::imbue, xalloc and
// register_callback, basic_ios<char>::imbue, copyfmt and rdbuf. Not sync_with_stdio, which does nothing then
// (symbols/cxx_stream_symbols.cpp).
constexpr std::array<std::string_view, 6> stream_changes = {
    "_ZNSt8ios_base5imbueERKSt6locale",
    "_ZNSt8ios_base6xallocEv",
    "_ZNSt8ios_base17register_callbackEPFvNS_5eventERS_iEi",
    "_ZNSt9basic_iosIcSt11char_traitsIcEE5imbueERKSt6locale",
    "_ZNSt9basic_iosIcSt11char_traitsIcEE7copyfmtERKS2_",
    "_ZNSt9basic_iosIcSt11char_traitsIcEE5rdbufEPSt15basic_streambufIcS1_E"};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_constant(std::string_view name) {
  return std::ranges::any_of(constant_beginnings, [&](auto begin) { return name.starts_with(begin); }) ||
         std::ranges::any_of(constant_ends, [&](auto end) { return name.ends_with(end); });
}

bool changes_streams(const LibraryChoice& choice) {
  return std::ranges::any_of(linked_objects(), [&](const link_map* object) {
    bool changes = false;
    if (!choice.is_shared(*object)) return false;
    visit_object(*object, [&](const dl_phdr_info& info) { changes = imports_any(info, stream_changes); });
    return changes;
  });
}

}  // namespace

std::string reason_against_one_memory(const Globals& globals, const LibraryChoice& choice) {
  bool has_streams = false;
  for (const std::string& variable : globals.private_copies) {
    if (is_one_of(variable, harmless) || is_constant(variable)) continue;
    if (!is_one_of(variable, streams)) return "each process has a variable " + variable + " of its own";
    has_streams = true;
  }
  if (!has_streams || !changes_streams(choice)) return {};
  return "the program changes buffer or locale of a standard stream, which each process has for itself";
}

}  // namespace musubi::image
