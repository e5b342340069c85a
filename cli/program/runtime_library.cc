#include "cli/program/runtime_library.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace countrace::cli {
namespace {

namespace fs = std::filesystem;

struct Library {
  const char* file;
  const char* variable;  // environment variable that names another one
  const char* in_build;  // its folder in a build tree, from the program's
  const char* missing;   // the effect if it is missing, and the remedy
};
constexpr Library kRuntime = {
    "libcountrace-runtime.so.0", "COUNTRACE_RUNTIME", "../runtime/inprocess",
    "so user hooks cannot be recorded (looked at %s); reinstall countrace"};
constexpr Library kLttng = {
    "libcountrace-lttng.so", "COUNTRACE_LTTNG", "../hooks/lttng",
    "so hooks do not reach LTTng (looked at %s); build countrace where "
    "liblttng-ust-dev is installed"};

absl::StatusOr<std::string> Find(const Library& library) {
  std::error_code error;
  if (const char* chosen = std::getenv(library.variable);
      chosen != nullptr && *chosen != '\0') {
    // Absolute: the command may change its directory before it uses the path.
    const fs::path path = fs::absolute(chosen, error);
    if (!fs::is_regular_file(path, error)) {
      return absl::NotFoundError(
          absl::StrFormat("%s=%s names no file; unset it or name %s",
                          library.variable, chosen, library.file));
    }
    return path.string();
  }

  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::NotFoundError(absl::StrFormat(
        "cannot find the program's own folder (/proc/self/exe: %s); name %s in "
        "%s",
        error.message(), library.file, library.variable));
  }
  const fs::path folder = program.parent_path();
  const std::vector<fs::path> candidates = {
      folder / library.file,
      folder / library.in_build / library.file,
      folder / COUNTRACE_LIBRARY_FROM_PROGRAM / library.file,
      folder / "../lib" / library.file,
      folder / "../lib64" / library.file,
  };
  std::string looked_at;
  for (const fs::path& candidate : candidates) {
    const fs::path path = candidate.lexically_normal();
    if (fs::is_regular_file(path, error)) return path.string();
    looked_at += (looked_at.empty() ? "" : ", ") + path.string();
  }
  return absl::NotFoundError(absl::StrFormat(
      "%s is missing, %s or name the library in %s", library.file,
      absl::StrReplaceAll(library.missing, {{"%s", looked_at}}),
      library.variable));
}

}  // namespace

absl::StatusOr<std::string> FindRuntimeLibrary() { return Find(kRuntime); }
absl::StatusOr<std::string> FindLttngLibrary() { return Find(kLttng); }

}  // namespace countrace::cli
