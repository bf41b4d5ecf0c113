// Misuse of sms.h ends the job with a line: its functions return no errors.
#pragma once

#include <cstdint>
#include <string>

namespace musubi::sms {

// `<function>: <cause and remedy>`, exit status 1. Any thread, in a job or outside of it.
[[noreturn]] void refuse(const char* function, const std::string& text);
// The same without a function's name: the program's own words.
[[noreturn]] void end_job(const std::string& text);

}  // namespace musubi::sms
