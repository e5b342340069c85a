#include "viewer/server/tables/trace_notes.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "base/posix/pending_file.h"
#include "base/posix/regular_file.h"
#include "viewer/index/open/open_or_build.h"

namespace countrace::viewer {
namespace {

using Json = nlohmann::json;

absl::StatusOr<std::string> NotesPath(const std::string& trace_path) {
  auto index = IndexPathFor(trace_path);
  if (!index.ok()) return index.status();
  return std::filesystem::path(*index).replace_extension(".notes").string();
}

bool IsNote(const Json& note) {
  return note.is_object() && note.size() == 2 && note.contains("at") &&
         note["at"].is_number_unsigned() && note.contains("text") &&
         note["text"].is_string() &&
         note["text"].get_ref<const std::string&>().size() <= kMostNoteBytes;
}

// Null: it is no list of notes.
Json Parse(std::string_view text) {
  Json notes = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool right = notes.is_array() && notes.size() <= kMostNotes &&
                     std::all_of(notes.begin(), notes.end(), IsNote);
  return right ? notes : Json(nullptr);
}

}  // namespace

absl::StatusOr<std::string> ReadNotes(const std::string& trace_path) {
  const auto path = NotesPath(trace_path);
  if (absl::IsPermissionDenied(path.status())) return "[]";  // nor an index
  if (!path.ok()) return path.status();
  const auto file = base::OpenRegularFile(*path, base::LastLink::kRefused);
  if (absl::IsNotFound(file.status())) return "[]";
  const auto text =
      file.ok() ? base::ReadAll(file->get(), kMostNotesBytes) : file.status();
  const Json notes = text.ok() ? Parse(*text) : Json(nullptr);
  if (!notes.is_array()) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s holds no notes%s: move it away", *path,
        text.ok() ? "" : absl::StrFormat(" (%s)", text.status().message())));
  }
  return notes.dump();
}

absl::Status WriteNotes(const std::string& trace_path, std::string_view before,
                        std::string_view text) {
  static std::mutex& writing = *new std::mutex;
  const Json notes = Parse(text);
  if (!notes.is_array()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "Expected at most %d notes, each {\"at\": ns, \"text\": at most %d "
        "bytes}",
        kMostNotes, kMostNoteBytes));
  }
  const std::lock_guard lock(writing);
  const auto old = ReadNotes(trace_path);
  if (!old.ok()) return old.status();
  if (*old != before) return absl::AbortedError("Others changed the notes");
  const auto path = NotesPath(trace_path);
  if (!path.ok()) return path.status();
  base::PendingFile file(*path);
  absl::Status written = file.Create();
  if (written.ok()) written = file.Append(notes.dump());
  return written.ok() ? file.Commit() : written;
}

}  // namespace countrace::viewer
