// Stories: a few ranks, one event per line, followed by the protocol's actions. A file of stories is also its
// own expected result: run with MUSUBI_TELL_STORIES=1 to rewrite it, and read the difference.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace musubi::stories {

// `told`: the lines that follow the event in the file, or in this run.
struct Event {
  std::string line;
  std::vector<std::string> told;
};

// From a heading to the next one. `before`: comments and empty lines above the heading.
struct Story {
  std::vector<std::string> before;
  std::string heading;  // "story: <title> [<option>=<number> ...]"
  std::vector<Event> events;
};

// Lines that begin with two blanks are results, lines with `#` are comments. Throws std::runtime_error with
// the line number for a line outside of a story or event.
std::vector<Story> read_stories(const std::filesystem::path& file);
void write_stories(const std::filesystem::path& file, const std::vector<Story>& stories);
std::string text_of(const Story& story);

// The story with the results of this run.
Story tell(const Story& story);

}  // namespace musubi::stories
