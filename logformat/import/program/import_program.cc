#include "logformat/import/program/import_program.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"

namespace countrace::importer {

namespace {

namespace fs = std::filesystem;

constexpr char kProgram[] = "countrace-import";
constexpr char kVariable[] = "COUNTRACE_IMPORT";

}  // namespace

absl::StatusOr<std::string> FindImportProgram() {
  std::error_code error;
  if (const char* chosen = std::getenv(kVariable);
      chosen != nullptr && *chosen != '\0') {
    if (fs::is_regular_file(chosen, error)) return std::string(chosen);
    return absl::NotFoundError(
        absl::StrFormat("%s=%s names no file; unset it or name %s", kVariable,
                        chosen, kProgram));
  }
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return absl::NotFoundError(absl::StrFormat(
        "cannot find the program's own folder (/proc/self/exe: %s); name %s in "
        "%s",
        error.message(), kProgram, kVariable));
  }
  const fs::path folder = program.parent_path();
  std::string looked_at;
  for (const fs::path& candidate :
       {folder / COUNTRACE_LIBEXEC_FROM_PROGRAM / kProgram, folder / kProgram,
        folder / "../logformat/import" / kProgram,
        folder / "../../logformat/import" / kProgram}) {
    const fs::path path = candidate.lexically_normal();
    if (fs::is_regular_file(path, error)) return path.string();
    looked_at += (looked_at.empty() ? "" : ", ") + path.string();
  }
  return absl::NotFoundError(absl::StrFormat(
      "%s is missing, so traces of others cannot be read (looked at %s); "
      "reinstall countrace, or build it with libbabeltrace2-dev",
      kProgram, looked_at));
}

}  // namespace countrace::importer
