#include "runtime/recorder/system/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace countrace::runtime {
namespace {

rlimit g_before;
bool g_raised = false;

}  // namespace

void RaiseDescriptorLimit(std::uint64_t descriptors) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  if (limit.rlim_cur >= descriptors) return;
  rlimit raised = limit;
  raised.rlim_cur = std::min<rlim_t>(descriptors, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &raised) != 0 || g_raised) return;
  g_before = limit;
  g_raised = true;
}

void RestoreDescriptorLimit() noexcept {
  if (g_raised) setrlimit(RLIMIT_NOFILE, &g_before);
}

}  // namespace countrace::runtime
