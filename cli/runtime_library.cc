#include "cli/runtime_library.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"

namespace countrace::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libcountrace-runtime.so";
constexpr char kVariable[] = "COUNTRACE_RUNTIME";

}  // namespace

absl::StatusOr<std::string> FindRuntimeLibrary() {
  std::error_code error;
  if (const char* chosen = std::getenv(kVariable);
      chosen != nullptr && *chosen != '\0') {
    // Absolute: the command may change its directory before it uses the path.
    const fs::path path = fs::absolute(chosen, error);
    if (!fs::is_regular_file(path, error)) {
      return absl::NotFoundError(
          absl::StrFormat("%s=%s names no file; unset it or name %s", kVariable,
                          chosen, kLibrary));
    }
    return path.string();
  }

  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::NotFoundError(absl::StrFormat(
        "cannot find the program's own folder (/proc/self/exe: %s); name %s in "
        "%s",
        error.message(), kLibrary, kVariable));
  }
  const fs::path folder = program.parent_path();
  const std::vector<fs::path> candidates = {
      folder / kLibrary,
      folder / "../runtime/inprocess" / kLibrary,
      folder / COUNTRACE_LIBRARY_FROM_PROGRAM / kLibrary,
      folder / "../lib" / kLibrary,
      folder / "../lib64" / kLibrary,
  };
  std::string looked_at;
  for (const fs::path& candidate : candidates) {
    const fs::path path = candidate.lexically_normal();
    if (fs::is_regular_file(path, error)) return path.string();
    looked_at += (looked_at.empty() ? "" : ", ") + path.string();
  }
  return absl::NotFoundError(absl::StrFormat(
      "%s is missing, so user hooks cannot be recorded (looked at %s); "
      "reinstall countrace or name the library in %s",
      kLibrary, looked_at, kVariable));
}

}  // namespace countrace::cli
