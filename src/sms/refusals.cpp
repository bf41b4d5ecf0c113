#include "sms/refusals.h"

#include <cstdio>
#include <cstdlib>

#include "sms/process.h"

namespace musubi::sms {

void refuse(const char* function, const std::string& text) {
  end_job(std::string(function) + ": " + text);
}

void end_job(const std::string& text) {
  std::fflush(nullptr);
  if (Process* const process = current_process()) process->runtime.ending().abort(1, text);
  std::fprintf(stderr, "musubi: %s\n", text.c_str());
  std::_Exit(1);
}

}  // namespace musubi::sms
