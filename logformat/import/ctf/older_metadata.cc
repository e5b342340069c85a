#include "logformat/import/ctf/older_metadata.h"

#include <babeltrace2/babeltrace.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "logformat/import/ctf/tsdl_translation.h"
#include "logformat/session_layout.h"

namespace countrace::importer {
namespace {

namespace fs = std::filesystem;

bool LibraryReadsCtf2() {
  return std::pair(bt_version_get_major(), bt_version_get_minor()) >=
         std::pair(2u, 1u);
}

bool IsCtf2(const std::string& directory) {
  std::ifstream metadata(fs::path(directory) / logformat::kMetadataFile,
                         std::ios::binary);
  char begin = 0;
  return metadata.get(begin) && IsCtf2Metadata({&begin, 1});
}

}  // namespace

absl::Status OlderMetadata::Prepare(const std::string& output,
                                    std::vector<std::string>& directories) {
  if (LibraryReadsCtf2()) return absl::OkStatus();
  for (std::size_t i = 0; i < directories.size(); ++i) {
    if (!IsCtf2(directories[i])) continue;
    const fs::path made = fs::path(output) / kOlderTraces / std::to_string(i);
    std::error_code error;
    fs::create_directories(made, error);
    for (const fs::directory_entry& file :
         fs::directory_iterator(fs::absolute(directories[i]), error)) {
      const fs::path name = file.path().filename();
      std::error_code no_file;
      if (error || name == logformat::kMetadataFile ||
          !file.is_regular_file(no_file)) {
        continue;
      }
      fs::create_symlink(file.path(), made / name, error);
      if (error) break;
    }
    if (error) {
      return absl::ErrnoToStatus(error.value(), "Cannot make " + made.string());
    }
    traces_.push_back({directories[i], {}});
    if (absl::Status created =
            traces_.back().metadata.Create(made / logformat::kMetadataFile);
        !created.ok()) {
      return created;
    }
    directories[i] = made;
  }
  return absl::OkStatus();
}

absl::Status OlderMetadata::Write() {
  for (Trace& trace : traces_) {
    std::ifstream file(fs::path(trace.source) / logformat::kMetadataFile,
                       std::ios::binary);
    const std::string json((std::istreambuf_iterator<char>(file)), {});
    const auto tsdl = TranslateToTsdl(json);
    if (!tsdl.ok()) {
      const bool is_newer = absl::IsUnimplemented(tsdl.status());
      return absl::InvalidArgumentError(absl::StrFormat(
          "Cannot read %s: %s%s", trace.source, tsdl.status().message(),
          is_newer ? absl::StrFormat(
                         ". It is a CTF 2 trace with what CTF 1.8 has not, and "
                         "the installed libbabeltrace2 %d.%d reads no more: "
                         "2.1 or later reads it",
                         bt_version_get_major(), bt_version_get_minor())
                   : ""));
    }
    if (absl::Status written =
            trace.metadata.WriteAt(0, std::as_bytes(std::span(*tsdl)));
        !written.ok()) {
      return written;
    }
  }
  return absl::OkStatus();
}

}  // namespace countrace::importer
