#include "runtime/recorder/system/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

#include "absl/strings/str_format.h"

namespace countrace::runtime {
namespace {

rlimit g_before;
bool g_raised = false;
rlim_t g_needed = 0;

}  // namespace

void RaiseDescriptorLimit(std::uint64_t descriptors) {
  rlimit limit{};
  g_needed = descriptors;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t most = std::max(limit.rlim_max, g_needed);
  if (limit.rlim_cur >= most) return;
  const rlimit raised{most, most}, allowed{limit.rlim_max, limit.rlim_max};
  if (setrlimit(RLIMIT_NOFILE, &raised) != 0 &&
      setrlimit(RLIMIT_NOFILE, &allowed) != 0) {
    return;
  }
  if (!g_raised) g_before = limit;
  g_raised = true;
}

std::string TooFewDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return absl::StrFormat(
      "too many open files: about %d are needed, and the limit is %d: "
      "`ulimit -n %d`",
      g_needed, limit.rlim_cur, g_needed);
}

void RestoreDescriptorLimit() noexcept {
  if (g_raised) setrlimit(RLIMIT_NOFILE, &g_before);
}

}  // namespace countrace::runtime
