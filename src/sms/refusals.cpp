#include "sms/refusals.h"

#include <cstdio>
#include <cstdlib>

#include "sms/job.h"

namespace musubi::sms {

void refuse(const char* function, const std::string& text) {
  end_job(std::string(function) + ": " + text);
}

void end_job(const std::string& text) {
  std::fflush(nullptr);
  if (Job* const job = current_job()) job->runtime.ending().abort(1, text);
  std::fprintf(stderr, "musubi: %s\n", text.c_str());
  std::_Exit(1);
}

}  // namespace musubi::sms
