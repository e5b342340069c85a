#include "viewer/server/tables/trace_notes.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "base/posix/pending_file.h"
#include "base/posix/regular_file.h"
#include "viewer/index/open/cache_directory.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostExact = std::uint64_t{1} << 53;  // in a page

// The first is written; the first that is there is read.
std::vector<std::string> PlacesOf(const std::string& trace_path,
                                  const Fingerprint& trace) {
  std::vector<std::string> places = {trace_path + "/.timeline.notes"};
  const std::string cache = CacheDirectory();
  if (cache.empty()) return places;
  const std::string uuid(reinterpret_cast<const char*>(trace.uuid),
                         sizeof(trace.uuid));
  const bool is_own = ::access(trace_path.c_str(), W_OK) == 0;
  places.insert(is_own ? places.end() : places.begin(),
                cache + "/" + absl::BytesToHexString(uuid) + ".notes");
  return places;
}

bool IsNote(const Json& note) {
  return note.is_object() && note.size() == 2 && note.contains("at") &&
         note["at"].is_number_unsigned() &&
         note["at"].get<std::uint64_t>() <= kMostExact &&
         note.contains("text") && note["text"].is_string() &&
         note["text"].get_ref<const std::string&>().size() <= kMostNoteBytes;
}

// Before anything that descends into what may be deep.
bool AreNotes(const Json& notes) {
  return notes.is_array() && notes.size() <= kMostNotes &&
         std::all_of(notes.begin(), notes.end(), IsNote);
}

// Who can read the trace can read what stands in it.
absl::Status Write(const std::string& path, const std::string& trace_path,
                   const std::string& text) {
  const std::string folder = std::filesystem::path(path).parent_path();
  const bool is_cached = folder == CacheDirectory();
  if (is_cached) MakeCacheDirectory(folder);
  base::PendingFile file(path);
  absl::Status written = file.Create();
  if (written.ok()) written = file.Append(text);
  struct stat like {};
  if (written.ok() && !is_cached &&
      ::stat((trace_path + "/metadata").c_str(), &like) == 0 &&
      ::chmod(file.temporary().c_str(), like.st_mode & 0666u) != 0) {
    written = absl::ErrnoToStatus(errno, "Cannot set the rights of " + path);
  }
  return written.ok() ? file.Commit() : written;
}

}  // namespace

absl::StatusOr<Json> ReadNotes(const std::string& trace_path,
                               const Fingerprint& trace) {
  for (const std::string& path : PlacesOf(trace_path, trace)) {
    const auto file = base::OpenRegularFile(path, base::LastLink::kRefused);
    if (absl::IsNotFound(file.status())) continue;
    const auto text =
        file.ok() ? base::ReadAll(file->get(), kMostNotesBytes) : file.status();
    Json notes = Json::parse(text.ok() ? *text : "", nullptr,
                             /*allow_exceptions=*/false);
    if (AreNotes(notes)) return notes;
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s holds no notes%s: move it away", path,
        text.ok() ? "" : absl::StrFormat(" (%s)", text.status().message())));
  }
  return Json::array();
}

absl::Status WriteNotes(const std::string& trace_path, const Fingerprint& trace,
                        const Json& before, const Json& notes) {
  static std::mutex& writing = *new std::mutex;
  if (!AreNotes(before) || !AreNotes(notes)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Expected at most %d notes, each {\"at\": ns, \"text\": at most %d "
        "bytes}",
        kMostNotes, kMostNoteBytes));
  }
  const std::string text = notes.dump();
  if (text.size() > kMostNotesBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("The notes would have %d bytes, at most %d together: "
                        "remove some",
                        text.size(), kMostNotesBytes));
  }
  const std::lock_guard lock(writing);
  const auto old = ReadNotes(trace_path, trace);
  if (!old.ok()) return old.status();
  if (*old != before) return absl::AbortedError("Others changed the notes");
  return Write(PlacesOf(trace_path, trace).front(), trace_path, text);
}

}  // namespace countrace::viewer
