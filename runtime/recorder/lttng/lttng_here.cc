#include "runtime/recorder/lttng/lttng_here.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>

#include "absl/strings/str_format.h"
#include "base/posix/small_file.h"

namespace countrace::runtime {
namespace {

bool IsInPath(const std::string& program) {
  const char* const path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/bin:/bin";
  rest += ":";
  std::size_t begin = 0;
  for (std::size_t end = rest.find(':'); end != std::string::npos;
       end = rest.find(':', begin)) {
    const std::string file = rest.substr(begin, end - begin) + "/" + program;
    if (access(file.c_str(), X_OK) == 0) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

absl::Status LttngToolsAreHere() {
  for (const char* program : {"lttng-sessiond", "lttng"}) {
    if (IsInPath(program)) continue;
    return absl::NotFoundError(absl::StrFormat(
        "`--backend lttng` needs %s, which is in no directory of PATH; install "
        "LTTng's tools (Debian, Ubuntu: apt-get install lttng-tools), or leave "
        "--backend out: countrace's own recorder needs no LTTng",
        program));
  }
  return absl::OkStatus();
}

std::string WhyNoLttngKernelEvents() {
  if (access("/proc/lttng", F_OK) != 0) {
    utsname name{};
    uname(&name);
    const auto modules = base::ReadSmallFile(
        absl::StrFormat("/lib/modules/%s/modules.dep", name.release));
    if (!modules.ok() ||
        modules->find("lttng-tracer.ko") == std::string::npos) {
      return absl::StrFormat(
          "LTTng's kernel modules are not installed for Linux %s (Debian, "
          "Ubuntu: lttng-modules-dkms)",
          name.release);
    }
  }
  return geteuid() == 0 ? "" : "they need root";
}

std::string LttngForkLibrary() {
  const char* const library = COUNTRACE_LTTNG_FORK_LIBRARY;
  return access(library, R_OK) == 0 ? library : "";
}

}  // namespace countrace::runtime
